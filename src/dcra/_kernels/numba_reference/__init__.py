"""The loops as they were under Numba, kept beside the library only until both agree in answers and speed."""
