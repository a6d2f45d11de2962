// Resolves the params of a run. Null is a value only for inputs of type any that are no streams; otherwise it means absent.
import type { PlanInput } from '../../compile/plan.ts'

/** The param for an input; null if it is absent. */
export function resolveParam(
  { name, type, stream }: Pick<PlanInput, 'name' | 'type' | 'stream'>,
  params: Readonly<Record<string, unknown>>,
): { readonly value: unknown } | null {
  const value = Object.hasOwn(params, name) ? params[name] : undefined
  if (value === undefined || (value === null && (stream || type.type !== 'any'))) return null
  return { value }
}
