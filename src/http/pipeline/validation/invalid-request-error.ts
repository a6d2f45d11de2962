// The error for a request with problems.
import type { OperationInfo } from '../../../../generated/operations.ts'
import { moreProblemsSuffix, type Problem, ServiceError } from '../../../errors.ts'

/** The member for the inputs of a workflow. Beginners often put the inputs beside it. */
const INPUT_MEMBERS: Readonly<Record<string, string>> = {
  runWorkflow: 'params',
  preflightWorkflow: 'inputs',
  submitJob: 'inputs',
}

function addInputHint(problem: Problem, member: string): Problem {
  if (problem.code !== 'additionalProperties' || !/^\/body\/[^/]*$/.test(problem.path)) return problem
  return { ...problem, message: `${problem.message}: put inputs of the workflow in "${member}"` }
}

export function invalidRequestError(all: readonly Problem[], operation?: OperationInfo): ServiceError {
  const member = operation && INPUT_MEMBERS[operation.operationId]
  const problems = member === undefined ? all : all.map((problem) => addInputHint(problem, member))
  const [first] = problems
  const message = first ? `${first.path || 'The request'}: ${first.message}${moreProblemsSuffix(problems)}` : undefined
  return new ServiceError('INVALID_REQUEST', { problems, message })
}
