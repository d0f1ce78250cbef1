package handlers_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
)

// TestNamesMeanPeopleOfTheProject: a name means users with a role in the project or above it and users
// who have launched in it, and no other user with this name.
func TestNamesMeanPeopleOfTheProject(t *testing.T) {
	t.Parallel()
	b := setup(t)
	member := b.person(t, "sam", auth.ProjectDev, auth.LocalProject)
	above := b.person(t, "sam", auth.Viewer, auth.LocalTeam)
	b.person(t, "sam", "", uuid.Nil)
	b.person(t, "olga", "", uuid.Nil)

	found, err := b.executions.People(b.ctx, "sam")
	require.NoError(t, err)
	require.ElementsMatch(t, []uuid.UUID{member, above}, found)

	found, err = b.executions.People(b.ctx, "olga")
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{uuid.Nil}, found, "a stranger has no name here")

	former := b.person(t, "former", "", uuid.Nil)
	id := b.launched(t)
	_, err = b.pool.Exec(b.ctx, "UPDATE executions SET submitted_by = $1 WHERE id = $2", former, id)
	require.NoError(t, err)
	found, err = b.executions.People(b.ctx, "former")
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{former}, found)
}
