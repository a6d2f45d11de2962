// Changes of a value, as edits of the text that it was read from: what is the same in both is not touched, whatever it looks like.
import { isRecord, type Json } from './json-values.ts'
import { type Edit, itemsOf, type Member, membersOf, type Place } from './members.ts'

/** In the place of a value: its own JSON text, as a text. */
export const OWN_TEXT = Symbol('its own JSON text')

/**
 * The edits, in order, that make `wanted` of `given`, which was read from the text at a place; without one, from all of it. What is `===` in both stays.
 * Of members that come twice the last one counts. The text has one character for each byte (latin1).
 */
export function changesOf(text: string, given: unknown, wanted: unknown, place?: Place): Edit[] {
  if (given === wanted) return []
  const { start, end } = place ?? { start: 0, end: text.length }
  if (isRecord(given) && isRecord(wanted)) return changesOfMembers(text, given, wanted, start)
  if (Array.isArray(given) && Array.isArray(wanted) && given.length === wanted.length)
    return (itemsOf(text, start) ?? []).flatMap((item, at) => changesOf(text, given[at], wanted[at], item))
  const own = () => Buffer.from(text.slice(start, end), 'latin1').toString()
  return [{ start, end, text: JSON.stringify(wanted === OWN_TEXT ? own() : wanted) }]
}

function changesOfMembers(text: string, given: Json, wanted: Json, from: number): Edit[] {
  const members = membersOf(text, from) ?? []
  const places = new Map(members.map((member) => [member.key, member]))
  const names = Object.keys(wanted).filter((name) => given[name] !== wanted[name])
  const known = names.flatMap((name) => places.get(name) ?? [])
  const edits = known
    .sort((a, b) => a.start - b.start)
    .flatMap((place) => changesOf(text, given[place.key], wanted[place.key], place))
  const added = names.filter((name) => !places.has(name))
  return added.length === 0 ? edits : [...edits, addition(text, from, members, added, wanted)]
}

/** Behind all the others. */
function addition(
  text: string,
  from: number,
  members: readonly Member[],
  names: readonly string[],
  wanted: Json,
): Edit {
  const last = members.at(-1)
  const at = last ? last.end : text.indexOf('{', from) + 1
  const written = names.map((name) => `${JSON.stringify(name)}:${JSON.stringify(wanted[name])}`).join()
  return { start: at, end: at, text: last ? `,${written}` : written }
}
