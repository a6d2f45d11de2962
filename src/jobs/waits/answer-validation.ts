// What is wrong with an answer to a job that waits, as its sender is told. The judging itself is done in src/sandbox/schema-validator.ts.
import type { WaitRequest } from '../../engine/durability/journal.ts'
import { type Problem, ServiceError } from '../../errors.ts'
import type { RunSteps, SchemaValidator, SchemaVerdict } from '../../sandbox/schema-validator.ts'

/** How many answers of one user may wait to be judged: a request is not to wait for long. */
const MOST_WAITING = 20

/**
 * Everything that is wrong with a value; `at` is the JSON pointer of the value in its request. `doing` does the work that a large one makes. `ahead`: how
 * many answers of the owner to jobs that wait for much were there when this one came.
 * @throws SERVICE_UNAVAILABLE where too many of the owner wait to be judged
 */
export async function validateAnswerValue(
  schemas: SchemaValidator,
  { kind, schema }: Pick<WaitRequest, 'kind' | 'schema'>,
  { value, at }: { readonly value: unknown; readonly at: string },
  { owner, doing, ahead }: { readonly owner: string; readonly doing: RunSteps; readonly ahead: number },
): Promise<Problem[]> {
  if (schema === null) return []
  // Its schema is ours, and says no more than this.
  if (kind === 'approval') return typeof value === 'boolean' ? [] : [{ path: at, message: 'must be boolean' }]
  if (Math.max(schemas.countWaiting(owner), ahead) >= MOST_WAITING) throw new ServiceError('SERVICE_UNAVAILABLE')
  return toProblems(await schemas.validateValue(schema, value, { owner, runSteps: doing }), at)
}

function toProblems(verdict: SchemaVerdict, at: string): Problem[] {
  if (verdict.kind === 'fits') return []
  if (verdict.kind === 'unfit') return verdict.problems.map(({ path, message }) => ({ path: `${at}${path}`, message }))
  const because = verdict.kind === 'costly' ? 'needs too much work for it' : `cannot be used: ${verdict.why}`
  return [{ path: at, message: `could not be checked: the schema of the waiting node ${because}` }]
}
