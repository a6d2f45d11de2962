// What a run is given for one of its inputs. Null is a value where anything is one; elsewhere, and of a stream, it says that nothing is given.
import type { PlanInput } from '../../compile/plan.ts'

/** The value that a run is given for an input, or null where it is given none. */
export function resolveParam(
  { name, type, stream }: Pick<PlanInput, 'name' | 'type' | 'stream'>,
  params: Readonly<Record<string, unknown>>,
): { readonly value: unknown } | null {
  const value = Object.hasOwn(params, name) ? params[name] : undefined
  if (value === undefined || (value === null && (stream || type.type !== 'any'))) return null
  return { value }
}
