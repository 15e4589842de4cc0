"""Characters read by a bidirectional LSTM, within a submodel; its vectors are tested with the gradients."""

import numpy as np

from phistack.features.columns.table import FeatureSpace
from phistack.features.documents import Document, Span
from phistack.features.saved_files import SavedFiles
from phistack.submodels.blstm.settings import BlstmSettings
from phistack.submodels.blstm.submodel import BlstmSubmodel
from phistack.submodels.blstm.weights import first_weights, network_shapes


def test_its_weights_are_there_only_with_it_and_its_forget_gates_begin_open() -> None:
    without, with_it = (
        first_weights(
            network_shapes(BlstmSettings(character_lstm=units), words=4, characters=9, values=0, columns=0, tags=3), 1
        )
        for units in (0, 3)
    )
    assert not [name for name in without if name.startswith("characters_")]
    assert (with_it["characters_forward_bias"].reshape(4, 3)[2] == 1).all()


def test_a_submodel_learns_names_by_it_and_is_saved() -> None:
    names = ["Orlen", "Birch", "Talbot", "Wren", "Ashdown", "Corbel", "Fenwick", "Hale"]
    texts = [f"Seen by Dr. {name} today." for name in names]
    notes = [Document(str(i), t, (Span(12, t.index(" today"), "DOCTOR"),)) for i, t in enumerate(texts)]
    space = FeatureSpace()
    tables = space.fit(notes)
    model = BlstmSubmodel(columns=(), networks=1, character_lstm=4, lstm_size=8, word_size=8, epochs=6).fit(tables)
    assert model.weights_[0]["characters_forward"].shape == (16 + 4, 16) and "kernel2" not in model.weights_[0]
    unseen = space.tables([Document("new", "Seen by Dr. Marlowe today.")])
    assert [c.span for c in model.propose(unseen)[0] if c.chosen] == [Span(12, 19, "DOCTOR")]
    again = BlstmSubmodel.load(SavedFiles.written_by(model.save), space)
    np.testing.assert_array_equal(model.emissions(unseen)[0], again.emissions(unseen)[0])
