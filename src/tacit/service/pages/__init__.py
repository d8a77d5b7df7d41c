"""The pages of a service, made from replies of the API."""
