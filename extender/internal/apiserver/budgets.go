package apiserver

import (
	"errors"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	policylisters "k8s.io/client-go/listers/policy/v1"
)

// Budgets lists disruption budgets from an informer.
type Budgets struct {
	lister policylisters.PodDisruptionBudgetLister
	synced func() bool
}

// BudgetsOf adds an informer of disruption budgets to the factory. It must be called before the factory starts.
func BudgetsOf(factory informers.SharedInformerFactory) Budgets {
	informer := factory.Policy().V1().PodDisruptionBudgets()
	return Budgets{lister: informer.Lister(), synced: informer.Informer().HasSynced}
}

// In lists the budgets of a namespace, which must not be changed. It fails before the first list: no pod is evicted then.
func (b Budgets) In(namespace string) ([]*policyv1.PodDisruptionBudget, error) {
	if !b.synced() {
		return nil, errors.New("the disruption budgets have not been seen yet; try again")
	}
	return b.lister.PodDisruptionBudgets(namespace).List(labels.Everything())
}
