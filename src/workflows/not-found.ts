// The error for a workflow that does not exist, or is another owner's.
import { ServiceError } from '../errors.ts'
import { didYouMeanExample } from './did-you-mean.ts'
import { loadExamples } from './examples.ts'

/** Builds WORKFLOW_NOT_FOUND, with a similar example as hint. Ids of own workflows are not proposed, because people do not type them. */
export function workflowNotFoundWithHint(id: string): ServiceError {
  if (loadExamples().has(id))
    return workflowNotFound(`"${id}" is a bundled example: it has no versions, and only a copy of it can be changed.`)
  const meant = didYouMeanExample(id)
  return workflowNotFound(meant === '' ? undefined : `There is no workflow "${id}".${meant}`)
}

export function workflowNotFound(message?: string): ServiceError {
  return new ServiceError('WORKFLOW_NOT_FOUND', { message })
}
