"""The losses of ``tally.losses`` as functions, for a step without a module.

``clip_loss(image_features, text_features, logit_scale, local_loss=True)``: inputs by
position or name, options by name.
"""

from tally import losses

def _function(name, loss):
    options = set(getattr(losses, loss).__signature__.parameters)

    def function(*inputs, **named):
        given = {key: named.pop(key) for key in list(named) if key in options}
        return getattr(losses, loss)(**given)(*inputs, **named)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = getattr(losses, loss).__doc__
    return function


# Modules with parameters have no such form.
_NAMES = {
    "barlow_twins_loss": "BarlowTwinsLoss",
    "clip_loss": "ClipLoss",
    "coca_loss": "CoCaLoss",
    "dcl_loss": "DCLLoss",
    "dclw_loss": "DCLWLoss",
    "distill_clip_loss": "DistillClipLoss",
    "nt_xent_loss": "NTXentLoss",
    "sig_lip_loss": "SigLipLoss",
    "sup_con_loss": "SupConLoss",
    "vicreg_loss": "VICRegLoss",
}
for _name, _loss in _NAMES.items():
    globals()[_name] = _function(_name, _loss)

__all__ = sorted(_NAMES)
