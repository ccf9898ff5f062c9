"""Small sentence-transformers folders with random weights, as that library writes them."""

from pathlib import Path

from small_models import WORDS

BERT = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
SIZES = {"vocab_size": 40, "max_position_embeddings": 34}
ARCHITECTURES = {
    "bert": BERT | SIZES,
    "roberta": BERT | SIZES | {"pad_token_id": 1, "type_vocab_size": 1},
    "xlm-roberta": BERT | SIZES | {"pad_token_id": 1, "type_vocab_size": 1, "hidden_act": "gelu_new"},
    "mpnet": BERT | SIZES | {"pad_token_id": 1, "hidden_act": "relu"},
    "modernbert": BERT | SIZES | {"local_attention": 8, "num_hidden_layers": 4, "pad_token_id": 1},
    "distilbert": SIZES | {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48},
}


def make_tokenizer():
    """Return a tokenizer of whole words for transformers."""
    import transformers
    from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors
    from tokenizers.models import WordLevel

    special = ["[CLS]", "[PAD]", "[SEP]", "[UNK]"]
    words = [*special, *dict.fromkeys(WORDS)]
    words += [f"[unused{number}]" for number in range(len(words), SIZES["vocab_size"])]
    ids = {word: number for number, word in enumerate(words)}
    tokenizer = Tokenizer(WordLevel(ids, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        "[CLS] $A [SEP]", special_tokens=[("[CLS]", 0), ("[SEP]", 2)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        model_max_length=32,
    )  # fmt: skip


def make_transformer(path: Path, name: str, task: str = "feature-extraction"):
    """Return a small transformer with random weights, and the modules' package. task: or `fill-mask`."""
    import torch
    import transformers
    from sentence_transformers.sentence_transformer.modules import Transformer

    torch.manual_seed(7)
    config = transformers.AutoConfig.for_model(name, **ARCHITECTURES[name])
    kind = transformers.AutoModel if task == "feature-extraction" else transformers.AutoModelForMaskedLM
    model = kind.from_config(config)
    for parameter in model.parameters():  # those of a new model are too small to tell right from wrong
        torch.nn.init.normal_(parameter, std=0.3)
    model.save_pretrained(path / "start")
    make_tokenizer().save_pretrained(path / "start")
    return Transformer(str(path / "start"), transformer_task=task)


def make_model_folder(
    path: Path, name: str, pooling: str = "mean", dense: bool = False, normalise: bool = True
) -> Path:
    """Save a small model with random weights as sentence-transformers does."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules as models

    steps = [make_transformer(path, name), models.Pooling(32, pooling)]
    steps += [models.Dense(32, 16)] if dense else []
    steps += [models.Normalize()] if normalise else []
    SentenceTransformer(modules=steps, device="cpu").save(str(path / "model"), create_model_card=False)
    return path / "model"
