"""The unified feature set: named columns over tokens, computed once and handed to every submodel as integers."""
