"""Lists of operators and clients: values of a link key whose applicants pass, are stepped up or fail."""
