"""What the publisher calls: install, publish, audit, ledger, export."""
