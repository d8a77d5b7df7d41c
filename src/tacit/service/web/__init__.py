"""HTTP: the application, its guard, its errors and its routes."""
