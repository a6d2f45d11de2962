// Compares the markers of an operation or message: its status, its access and the required credential.

import { canonicalJson, type Json, type JsonMap, mapOf, unionOfKeys } from '../json.ts'
import type { DifferenceVerdict } from './differences.ts'
import { type DiffPosition, noteDifference } from './position.ts'

type MarkerPosition = Pick<DiffPosition, 'findings' | 'live' | 'at'>

const STATUS_MARKER = 'x-svc-implementation'
const STATUSES = ['planned', 'partial', 'implemented']

/** Whether clients can rely on it. Planned operations are not served, and previews may change. */
export function isServed(node: Json | undefined): boolean {
  return mapOf(node)[STATUS_MARKER] !== 'planned'
}

/** The default of each marker, and its values from the mildest to the strictest. */
const ORDERED_MARKERS: Readonly<
  Record<string, { verdict: DifferenceVerdict; absent: (node: JsonMap) => string; values: readonly string[] }>
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

/** The verdict on losing a marker that only permits something. */
const PERMISSIVE_MARKERS: Readonly<Record<string, DifferenceVerdict>> = {
  'x-svc-trailing-slash': 'breaking',
  'x-svc-wildcard': 'breaking',
  'x-eov-allow-unknown-query-parameters': 'breaking',
  'x-svc-preview': 'risky',
}
/** Markers that do not concern callers, or are compared elsewhere. */
const UNCOMPARED_MARKERS = new Set([STATUS_MARKER, 'x-svc-scope', 'x-svc-validation', 'x-svc-body', 'x-svc-result'])

/** Compares the markers. `scope` is the required scope of a token where no marker names one. */
export function diffMarkers(mark: MarkerPosition, old: JsonMap, next: JsonMap, scope: 'read' | 'write'): void {
  diffStatus(mark, old, next)
  diffScope(mark, old['x-svc-scope'] ?? scope, next['x-svc-scope'] ?? scope)
  for (const key of unionOfKeys(old, next).filter(
    (name) => /^x-(svc|eov)-/.test(name) && !UNCOMPARED_MARKERS.has(name),
  )) {
    if (key in ORDERED_MARKERS) diffOrderedMarker(mark, key, old, next)
    else if (canonicalJson(old[key]) !== canonicalJson(next[key])) diffOtherMarker(mark, key, old[key], next[key])
  }
}

function diffStatus(mark: MarkerPosition, old: JsonMap, next: JsonMap): void {
  const [before, after] = [old, next].map((node) => STATUSES.indexOf(String(node[STATUS_MARKER] ?? 'implemented')))
  if (before === after) return
  const message = `is ${next[STATUS_MARKER] ?? 'implemented'} in place of ${old[STATUS_MARKER] ?? 'implemented'}`
  if (after! > before!) noteDifference(mark, 'additive', 'implemented', message)
  else noteDifference(mark, 'risky', 'no-longer-implemented', message)
}

function diffScope(mark: MarkerPosition, old: Json, next: Json): void {
  if (old === next) return
  noteDifference(
    mark,
    next === 'write' ? 'breaking' : 'additive',
    'scope-changed',
    `needs the scope ${next} in place of ${old}`,
  )
}

function diffOrderedMarker(mark: MarkerPosition, key: string, old: JsonMap, next: JsonMap): void {
  const { verdict, absent, values } = ORDERED_MARKERS[key]!
  const [before, after] = [String(old[key] ?? absent(old)), String(next[key] ?? absent(next))]
  if (before === after) return
  const stricter = values.indexOf(after) > values.indexOf(before)
  noteDifference(
    mark,
    stricter ? verdict : 'additive',
    `${key.slice('x-svc-'.length)}-changed`,
    `${key} is ${after} in place of ${before}`,
  )
}

function diffOtherMarker(mark: MarkerPosition, key: string, old: Json | undefined, next: Json | undefined): void {
  const said = (value: Json | undefined) => (value === undefined ? 'nothing' : JSON.stringify(value))
  const message = `${key} is ${said(next)} in place of ${said(old)}`
  const gift = PERMISSIVE_MARKERS[key]
  if (gift === undefined) noteDifference(mark, 'risky', 'marker-changed', message)
  else noteDifference(mark, old === undefined ? 'additive' : gift, 'marker-changed', message)
}
