"""Lightning with what stands in TorchMetrics' place."""

import pytest
import torch
import torchmetrics as real

import tally.compat.torchmetrics as torchmetrics

lightning = pytest.importorskip("lightning")
pytestmark = pytest.mark.filterwarnings("ignore")

torch.manual_seed(0)
ROWS, TARGET = torch.randn(64, 5), torch.randint(2, (64,))


def monitored(package, make, target, folder):
    """The epochs that EarlyStopping leaves, and the value that it watches."""

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(5, 1)
            self.metric = make(package)

        def training_step(self, batch):
            rows, labels = batch
            scores = self.layer(rows).squeeze(1)
            return torch.nn.functional.binary_cross_entropy_with_logits(scores, labels.float())

        def validation_step(self, batch):
            rows, labels = batch
            self.metric(self.layer(rows).squeeze(1).sigmoid(), labels)
            self.log("watched", self.metric, on_step=False, on_epoch=True)

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    def loader(labels):
        return torch.utils.data.DataLoader(
            torch.utils.data.TensorDataset(ROWS, labels), batch_size=16
        )

    torch.manual_seed(1)
    stopping = lightning.pytorch.callbacks.EarlyStopping("watched", mode="max", patience=5)
    trainer = lightning.Trainer(
        max_epochs=3, logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, accelerator="cpu", default_root_dir=folder,
        callbacks=[stopping],
    )
    trainer.fit(Model(), loader(TARGET), loader(target))
    return trainer.current_epoch, trainer.callback_metrics["watched"]


@pytest.mark.parametrize("target", [torch.ones_like(TARGET), TARGET * 0, TARGET])
@pytest.mark.parametrize(
    "make",
    [
        lambda package: package.AUROC(task="binary"),
        lambda package: package.AveragePrecision(task="binary"),
        lambda package: package.F1Score(task="binary"),
        lambda package: package.classification.BinaryEER(),
    ],
)
def test_one_class_does_not_stop_a_training(make, target, tmp_path):
    epochs, value = monitored(torchmetrics, make, target, tmp_path)
    expected, other = monitored(real, make, target, tmp_path)
    assert epochs == expected == 3
    torch.testing.assert_close(value, other)
