"""What a run reports of itself: audit, report, summary page, account on the terminal."""
