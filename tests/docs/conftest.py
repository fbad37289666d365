import importlib.util

# They import agents.
collect_ignore = (
    []
    if importlib.util.find_spec("torch")
    else [
        "test_docs.py",
        "test_papers.py",
        "test_recipes.py",
    ]
)
