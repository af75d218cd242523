"""Labels of verifications and imported records, from requests and from files."""
