// Turns changes of a parsed value into edits of its JSON text. The text of unchanged values stays as it is.

import { isRecord } from '../../shared/record.ts'
import { findItems, findMembers, type JsonMember, type JsonRange, type TextEdit } from './text-ranges.ts'
import type { JsonRecord } from './values.ts'

/** Stands for a value's own JSON text, encoded as a string. */
export const AS_JSON_TEXT = Symbol('its own JSON text')

/**
 * The edits, in order, that turn `before` into `after`. `before` was read from `range` of the text, by default from all
 * of it. Values that are `===` stay. Of duplicate members the last counts. The text has one character for each byte
 * (latin1).
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

/** Inserts new members after all others. */
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
