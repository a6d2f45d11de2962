// Looks into large values in steps, before anybody asks whether they are of a type: millions of items take longer than a turn.
import { isLight, lightParts } from '../light-parts.ts'
import type { Steps } from '../time-slices.ts'
import { argument, type TypeMetadata } from './types.ts'
import { conforms, itemsOf, knowsItems, rememberItems, testOf } from './values.ts'

/** Whether to tell if a value is of a type, or if a list with it alone is, takes long. Not where it was found out before. */
export function takesSteps(value: unknown, type: TypeMetadata): value is object {
  if (typeof value !== 'object' || value === null) return false
  return itemTypes(value, type).some((item) => !knowsItems(value, item)) && !isLight(value)
}

/** From then on `conforms` knows the items of a large list or dict. */
export function* conformSteps(value: object, type: TypeMetadata): Steps<void> {
  for (const item of itemTypes(value, type)) yield* itemSteps(value, item)
}

function* itemSteps(container: object, type: TypeMetadata): Steps<void> {
  const items = itemsOf(container)
  const test = testOf(type)
  let fit = true
  for (const { from, to, light } of lightParts(items.length, (at) => items[at])) {
    if (light) for (let at = from; fit && at < to; at++) fit = test(items[at])
    else {
      const item: unknown = items[from]
      if (takesSteps(item, type)) yield* conformSteps(item, type)
      fit = conforms(item, type)
    }
    if (!fit) break
    yield
  }
  rememberItems(container, type, fit)
}

/** The types of which the items of a list or dict may have to be. */
function itemTypes(value: object, type: TypeMetadata): readonly TypeMetadata[] {
  if (type.type === 'union') return type.type_args.flatMap((member) => itemTypes(value, member))
  if (type.type !== 'list' && type.type !== 'dict') return []
  const item = argument(type, type.type === 'list' ? 0 : 1)
  if (item.type === 'any' || ArrayBuffer.isView(value)) return []
  if (type.type === 'dict') return Array.isArray(value) ? [] : [item]
  // A value fits where a list of it is expected.
  return Array.isArray(value) ? [item] : itemTypes(value, item)
}
