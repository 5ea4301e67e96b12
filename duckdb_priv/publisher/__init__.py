"""What the publisher calls: publish, refresh, audit, ledger, export."""
