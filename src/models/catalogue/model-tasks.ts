// Tells whether a model supports a task.
import type { Model } from '../provider.ts'

/** A guess by the name is no reason to refuse: only the provider's own statement is. */
export function supportsTask({ tasks, tasks_guessed }: Pick<Model, 'tasks' | 'tasks_guessed'>, task: string): boolean {
  return tasks_guessed === true || tasks.includes(task)
}
