"""What a run tells of itself: audit, report, summary page, account on the terminal."""
