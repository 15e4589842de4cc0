"""What every room may use: progress, processes, time, versions, templates."""
