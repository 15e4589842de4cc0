"""The surnames of the invented patients and doctors of the tests."""

NAMES = ["Selwyn", "Alder", "Larkin", "Osgood", "Penhale", "Rusk", "Tolliver", "Vance", "Wexford", "Yarrow"]
FEW_NAMES = NAMES[:8]
