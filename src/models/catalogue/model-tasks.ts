// Whether a model is for what it is asked.
import type { Model } from '../provider.ts'

/** Only what its provider says is a reason to refuse; a guess by its name is none. */
export function supportsTask({ tasks, tasks_guessed }: Pick<Model, 'tasks' | 'tasks_guessed'>, task: string): boolean {
  return tasks_guessed === true || tasks.includes(task)
}
