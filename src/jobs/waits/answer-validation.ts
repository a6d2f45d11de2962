// Validates answers to suspended jobs, and describes their problems. The schema validator runs in src/sandbox/schema-validator.ts.
import type { WaitRequest } from '../../engine/durability/journal.ts'
import { type Problem, ServiceError } from '../../errors.ts'
import type { RunSteps, SchemaValidator, SchemaVerdict } from '../../sandbox/schema-validator.ts'

/** At most this many answers of one user wait for validation, so that no request waits for long. */
const MOST_WAITING = 20

/**
 * Lists all problems of a value. `at` is the JSON pointer of the value in its request. `runSteps` runs long work in time slices. `ahead`: answers of the
 * owner to jobs with large wait requests that were pending when this answer came.
 * @throws SERVICE_UNAVAILABLE where too many answers of the owner wait for validation
 */
export async function validateAnswerValue(
  schemas: SchemaValidator,
  { kind, schema }: Pick<WaitRequest, 'kind' | 'schema'>,
  { value, at }: { readonly value: unknown; readonly at: string },
  { owner, runSteps, ahead }: { readonly owner: string; readonly runSteps: RunSteps; readonly ahead: number },
): Promise<Problem[]> {
  if (schema === null) return []
  // The service sets the schema of an approval, which allows any boolean.
  if (kind === 'approval') return typeof value === 'boolean' ? [] : [{ path: at, message: 'must be boolean' }]
  if (Math.max(schemas.countWaiting(owner), ahead) >= MOST_WAITING) throw new ServiceError('SERVICE_UNAVAILABLE')
  return toProblems(await schemas.validateValue(schema, value, { owner, runSteps }), at)
}

function toProblems(verdict: SchemaVerdict, at: string): Problem[] {
  if (verdict.kind === 'fits') return []
  if (verdict.kind === 'unfit') return verdict.problems.map(({ path, message }) => ({ path: `${at}${path}`, message }))
  const because = verdict.kind === 'costly' ? 'needs too much work' : `cannot be used: ${verdict.why}`
  return [{ path: at, message: `could not be checked: the schema of the waiting node ${because}` }]
}
