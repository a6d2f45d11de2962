// Changes of a value, as edits of the text that it was read from: what is the same in both is not touched, whatever it looks like.

import { findItems, findMembers, type JsonMember, type JsonRange, type TextEdit } from './text-ranges.ts'
import { isRecord, type JsonRecord } from './values.ts'

/** In the place of a value: its own JSON text, as a text. */
export const AS_JSON_TEXT = Symbol('its own JSON text')

/**
 * The edits, in order, that make `wanted` of `given`, which was read from the text at a place; without one, from all of it. What is `===` in both stays.
 * Of members that come twice the last one counts. The text has one character for each byte (latin1).
 */
export function diffAsEdits(text: string, before: unknown, after: unknown, range?: JsonRange): TextEdit[] {
  if (before === after) return []
  const { start, end } = range ?? { start: 0, end: text.length }
  if (isRecord(before) && isRecord(after)) return diffMembersAsEdits(text, before, after, start)
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length)
    return (findItems(text, start) ?? []).flatMap((item, at) => diffAsEdits(text, before[at], after[at], item))
  const own = () => Buffer.from(text.slice(start, end), 'latin1').toString()
  return [{ start, end, text: JSON.stringify(after === AS_JSON_TEXT ? own() : after) }]
}

function diffMembersAsEdits(text: string, before: JsonRecord, after: JsonRecord, from: number): TextEdit[] {
  const members = findMembers(text, from) ?? []
  const members_by_key = new Map(members.map((member) => [member.key, member]))
  const names = Object.keys(after).filter((name) => before[name] !== after[name])
  const known = names.flatMap((name) => members_by_key.get(name) ?? [])
  const edits = known
    .sort((a, b) => a.start - b.start)
    .flatMap((place) => diffAsEdits(text, before[place.key], after[place.key], place))
  const added = names.filter((name) => !members_by_key.has(name))
  return added.length === 0 ? edits : [...edits, insertMembers(text, from, members, added, after)]
}

/** Behind all the others. */
function insertMembers(
  text: string,
  from: number,
  members: readonly JsonMember[],
  names: readonly string[],
  after: JsonRecord,
): TextEdit {
  const last = members.at(-1)
  const at = last ? last.end : text.indexOf('{', from) + 1
  const written = names.map((name) => `${JSON.stringify(name)}:${JSON.stringify(after[name])}`).join()
  return { start: at, end: at, text: last ? `,${written}` : written }
}
