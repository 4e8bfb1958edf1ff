"""What a policy has learnt, as functions of the policy.

    explain             why this choice: its estimate, the highest, the chance of either to be best
    leave_one_out       can the model be trusted? Every point predicted from the others
    relevance           which variables the estimates depend on
    partial_dependence  how the estimate depends on one of them
    follow_earlier      how closely the estimates follow the predictions of earlier studies
    fitted_model        the model itself: hyperparameters, and the rewards it rests on

They ask a policy only for what every policy has: its posterior and the units of it, its
observations and hyperparameters, and the model its answers come from (`Policy.answer_model`).

>>> import kernelbandits as kb
>>> auto = kb.Auto(kb.Arms([[0.0], [0.5], [1.0]]), seed=1)
>>> for arm, reward in ((0, 0.1), (1, 0.9), (2, 0.2)):
...     auto.tell(auto.choice(arm), reward)
>>> why = kb.insight.explain(auto, auto.recommend_choice())
>>> bool(why.x[0] == 0.5), why.chance == why.highest_chance
(True, True)
"""

from kernelbandits.insight.dependence import PartialDependence as PartialDependence
from kernelbandits.insight.dependence import partial_dependence as partial_dependence
from kernelbandits.insight.explanation import Explanation as Explanation
from kernelbandits.insight.explanation import explain as explain
from kernelbandits.insight.following import Followed as Followed
from kernelbandits.insight.following import follow_earlier as follow_earlier
from kernelbandits.insight.left_out import LeaveOneOut as LeaveOneOut
from kernelbandits.insight.left_out import leave_one_out as leave_one_out
from kernelbandits.insight.model import FittedModel as FittedModel
from kernelbandits.insight.model import fitted_model as fitted_model
from kernelbandits.insight.variance_shares import Relevance as Relevance
from kernelbandits.insight.variance_shares import relevance as relevance
