// The markers of an operation or message: whether it is served, for whom, and what a caller has to bring.

import type { Verdict } from './difference.ts'
import { canonical, type Json, type JsonMap, mapOf, names } from './json.ts'
import { note, type Place } from './place.ts'

type Mark = Pick<Place, 'findings' | 'live' | 'at'>

const STATUS = 'x-svc-implementation'
const STATUSES = ['planned', 'partial', 'implemented']

/** Whether anybody could rely on it: planned operations are not served, and previews may change. */
export function isLive(node: Json | undefined): boolean {
  return mapOf(node)[STATUS] !== 'planned'
}

/** What each marker says where it is absent, and its values from the mildest to the strictest. */
const ORDERED: Readonly<
  Record<string, { verdict: Verdict; absent: (node: JsonMap) => string; values: readonly string[] }>
> = {
  'x-svc-access': {
    verdict: 'breaking',
    absent: () => 'principal',
    values: ['public', 'principal', 'operator', 'administrator'],
  },
  'x-svc-request-id': { verdict: 'breaking', absent: () => 'optional', values: ['optional', 'required'] },
  'x-svc-rate-limit': { verdict: 'risky', absent: () => 'common', values: ['common', 'sign_in'] },
  'x-svc-switch': { verdict: 'risky', absent: () => 'none', values: ['none', 'sdk_lifecycle'] },
}

/** How bad it is to lose a marker that only gives. */
const GIFTS: Readonly<Record<string, Verdict>> = {
  'x-svc-trailing-slash': 'breaking',
  'x-svc-wildcard': 'breaking',
  'x-eov-allow-unknown-query-parameters': 'breaking',
  'x-svc-preview': 'risky',
}
/** Of no concern to callers, or compared elsewhere. */
const SILENT = new Set([STATUS, 'x-svc-scope', 'x-svc-validation', 'x-svc-body', 'x-svc-result'])

/** Compares the markers; `scope` is what a token must be good for where nothing is said. */
export function diffMarks(mark: Mark, old: JsonMap, next: JsonMap, scope: 'read' | 'write'): void {
  diffStatus(mark, old, next)
  diffScope(mark, old['x-svc-scope'] ?? scope, next['x-svc-scope'] ?? scope)
  for (const key of names(old, next).filter((name) => /^x-(svc|eov)-/.test(name) && !SILENT.has(name))) {
    if (key in ORDERED) diffOrdered(mark, key, old, next)
    else if (canonical(old[key]) !== canonical(next[key])) diffOther(mark, key, old[key], next[key])
  }
}

function diffStatus(mark: Mark, old: JsonMap, next: JsonMap): void {
  const [before, after] = [old, next].map((node) => STATUSES.indexOf(String(node[STATUS] ?? 'implemented')))
  if (before === after) return
  const message = `is ${next[STATUS] ?? 'implemented'} in place of ${old[STATUS] ?? 'implemented'}`
  if (after! > before!) note(mark, 'additive', 'implemented', message)
  else note(mark, 'risky', 'no-longer-implemented', message)
}

function diffScope(mark: Mark, old: Json, next: Json): void {
  if (old === next) return
  note(mark, next === 'write' ? 'breaking' : 'additive', 'scope-changed', `needs the scope ${next} in place of ${old}`)
}

function diffOrdered(mark: Mark, key: string, old: JsonMap, next: JsonMap): void {
  const { verdict, absent, values } = ORDERED[key]!
  const [before, after] = [String(old[key] ?? absent(old)), String(next[key] ?? absent(next))]
  if (before === after) return
  const stricter = values.indexOf(after) > values.indexOf(before)
  note(
    mark,
    stricter ? verdict : 'additive',
    `${key.slice('x-svc-'.length)}-changed`,
    `${key} is ${after} in place of ${before}`,
  )
}

function diffOther(mark: Mark, key: string, old: Json | undefined, next: Json | undefined): void {
  const said = (value: Json | undefined) => (value === undefined ? 'nothing' : JSON.stringify(value))
  const message = `${key} is ${said(next)} in place of ${said(old)}`
  const gift = GIFTS[key]
  if (gift === undefined) note(mark, 'risky', 'marker-changed', message)
  else note(mark, old === undefined ? 'additive' : gift, 'marker-changed', message)
}
