package kube

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// lister is the client of one kind of objects.
type lister[List runtime.Object] interface {
	List(ctx context.Context, o metav1.ListOptions) (List, error)
	Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error)
}

// newInformer returns an informer of the objects that selector matches, "" for all of them.
// example is one of the kind. The informers of client-go need a client of every group.
func newInformer[List runtime.Object](api API, objects lister[List], example runtime.Object, selector string) cache.SharedIndexInformer {
	return cache.NewSharedIndexInformer(listerWatcher(api, objects, func(o *metav1.ListOptions) { o.LabelSelector = selector }), example, 0,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
}

// listerWatcher lists and watches objects with the selectors that restrict sets.
func listerWatcher[List runtime.Object](api API, objects lister[List], restrict func(*metav1.ListOptions)) cache.ListerWatcher {
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			restrict(&o)
			return objects.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			restrict(&o)
			return objects.Watch(ctx, o)
		},
	}, api)
}
