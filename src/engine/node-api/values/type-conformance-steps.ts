// Checks the types of large values in steps, before `conforms` needs the result: millions of items take longer than a turn.

import type { Steps } from '../../../shared/time-slices.ts'
import { isSmallValue, splitIntoSmallRanges } from '../../../shared/value-size.ts'
import { conforms, getTypeTest, hasKnownConformance, listItems, rememberConformance } from './type-conformance.ts'
import { getTypeArgument, type TypeMetadata } from './type-metadata.ts'

/** Whether checking a value, or a list that contains only it, takes long. False if the result is cached. */
export function needsConformanceSteps(value: unknown, type: TypeMetadata): value is object {
  if (typeof value !== 'object' || value === null) return false
  return listItemTypes(value, type).some((item) => !hasKnownConformance(value, item)) && !isSmallValue(value)
}

/** Afterwards `conforms` knows the result for the items of a large list or dict. */
export function* checkConformanceSteps(value: object, type: TypeMetadata): Steps<void> {
  for (const item of listItemTypes(value, type)) yield* checkItemsSteps(value, item)
}

function* checkItemsSteps(container: object, type: TypeMetadata): Steps<void> {
  const items = listItems(container)
  const test = getTypeTest(type)
  let fit = true
  for (const { from, to, isSmall } of splitIntoSmallRanges(items.length, (at) => items[at])) {
    if (isSmall) for (let at = from; fit && at < to; at++) fit = test(items[at])
    else {
      const item: unknown = items[from]
      if (needsConformanceSteps(item, type)) yield* checkConformanceSteps(item, type)
      fit = conforms(item, type)
    }
    if (!fit) break
    yield
  }
  rememberConformance(container, type, fit)
}

/** The types that the items of a list or dict may be checked against. */
function listItemTypes(value: object, type: TypeMetadata): readonly TypeMetadata[] {
  if (type.type === 'union') return type.type_args.flatMap((member) => listItemTypes(value, member))
  if (type.type !== 'list' && type.type !== 'dict') return []
  const item = getTypeArgument(type, type.type === 'list' ? 0 : 1)
  if (item.type === 'any' || ArrayBuffer.isView(value)) return []
  if (type.type === 'dict') return Array.isArray(value) ? [] : [item]
  // A single value also fits where a list of it is expected.
  return Array.isArray(value) ? [item] : listItemTypes(value, item)
}
