// Compares the channels, messages and operations of two AsyncAPI documents.

import {
  canonicalJson,
  type Json,
  type JsonMap,
  listOf,
  mapOf,
  readReference,
  resolveReference,
  textOf,
  unionOfKeys,
} from '../json.ts'
import type { DifferenceCollector } from './differences.ts'
import { diffMarkers, isServed } from './markers.ts'
import {
  childPosition,
  type DiffPosition,
  type DocumentPair,
  type MessageDirection,
  noteDifference,
} from './position.ts'
import { diffSchema } from './schemas.ts'
import { diffSecuritySchemes } from './security-schemes.ts'

/** Compares all channels with their messages, then the operations. */
export function diffSocketChannels(documents: DocumentPair, findings: DifferenceCollector): void {
  const [old, next] = [mapOf(documents.old.channels), mapOf(documents.new.channels)]
  const base = { documents, findings, direction: 'request', live: true } as const
  for (const name of unionOfKeys(old, next)) {
    const place: DiffPosition = { ...base, live: isServed(old[name]), at: `channel ${name}` }
    if (next[name] === undefined) noteDifference(place, 'breaking', 'channel-removed', 'is gone')
    else if (old[name] === undefined) noteDifference(place, 'additive', 'channel-added', 'is new')
    else diffChannel(place, name, mapOf(old[name]), mapOf(next[name]))
  }
  const [before, after] = [mapOf(documents.old.operations), mapOf(documents.new.operations)]
  for (const name of unionOfKeys(before, after)) {
    const place: DiffPosition = { ...base, live: isServed(before[name]), at: `socket operation ${name}` }
    if (after[name] === undefined) noteDifference(place, 'breaking', 'operation-removed', 'is gone')
    else if (before[name] === undefined) noteDifference(place, 'additive', 'operation-added', 'is new')
    else diffOperation(place, mapOf(before[name]), mapOf(after[name]))
  }
  diffSecuritySchemes({ documents, findings })
}

function diffChannel(place: DiffPosition, name: string, old: JsonMap, next: JsonMap): void {
  if (old.address !== next.address)
    noteDifference(place, 'breaking', 'channel-moved', `is at ${textOf(next.address)} now`)
  diffMarkers(place, old, next, 'write')
  const [before, after] = [mapOf(mapOf(old.bindings).ws), mapOf(mapOf(next.bindings).ws)]
  if (before.method !== after.method)
    noteDifference(place, 'breaking', 'handshake-changed', 'is opened with another method')
  diffSchema(childPosition(place, ' query'), before.query ?? {}, after.query ?? {})
  diffSchema(childPosition(place, ' headers'), before.headers ?? {}, after.headers ?? {})
  diffMessages(place, name, mapOf(old.messages), mapOf(next.messages))
}

function diffMessages(place: DiffPosition, channel: string, old: JsonMap, next: JsonMap): void {
  for (const key of unionOfKeys(old, next)) {
    const at: DiffPosition = { ...childPosition(place, ` message ${key}`), live: isServed(old[key]) }
    if (next[key] === undefined) noteDifference(at, 'breaking', 'message-removed', 'is gone')
    else if (old[key] === undefined) noteDifference(at, 'additive', 'message-added', 'is new')
    else {
      const directions = listDirections(place.documents.old, `#/channels/${channel}/messages/${key}`)
      const envelope = isEnvelope(place.documents.old, old, key) && isEnvelope(place.documents.new, next, key)
      diffMessage(at, envelope ? [] : directions, mapOf(old[key]), mapOf(next[key]))
    }
  }
}

/** Messages that the server receives are requests. Messages that it sends or replies are responses. */
function listDirections(document: JsonMap, reference: string): MessageDirection[] {
  const found = new Set<MessageDirection>()
  const holds = (list: Json | undefined) => listOf(list).some((one) => readReference(one) === reference)
  for (const operation of Object.values(mapOf(document.operations)).map(mapOf)) {
    if (holds(operation.messages)) found.add(operation.action === 'send' ? 'response' : 'request')
    if (holds(mapOf(operation.reply).messages)) found.add('response')
  }
  return found.size === 0 ? ['request', 'response'] : [...found]
}

/** Whether a message is an envelope of other messages, which are compared themselves. */
function isEnvelope(document: JsonMap, messages: JsonMap, key: string): boolean {
  const { oneOf } = mapOf(resolveReference(document, mapOf(messages[key]).payload))
  const others = Object.entries(messages).filter(([other]) => other !== key)
  const payloads = new Set(others.map(([, message]) => readReference(mapOf(message).payload)))
  return listOf(oneOf).length > 0 && listOf(oneOf).every((variant) => payloads.has(readReference(variant) ?? ''))
}

const IDENTITY_FIELDS = ['name', 'contentType', 'correlationId', 'x-svc-kind']

function diffMessage(place: DiffPosition, directions: readonly MessageDirection[], old: JsonMap, next: JsonMap): void {
  for (const key of IDENTITY_FIELDS) {
    if (canonicalJson(withoutDescription(old[key])) === canonicalJson(withoutDescription(next[key]))) continue
    noteDifference(place, 'breaking', 'message-changed', `has another ${key}`)
  }
  diffMarkers(place, withoutKind(old), withoutKind(next), 'write')
  for (const direction of directions) {
    diffSchema({ ...place, direction }, old.payload ?? {}, next.payload ?? {})
    if (old.headers !== undefined || next.headers !== undefined)
      diffSchema({ ...childPosition(place, ' headers'), direction }, old.headers ?? {}, next.headers ?? {})
  }
  if (old['x-svc-result'] !== undefined || next['x-svc-result'] !== undefined)
    diffSchema(
      { ...childPosition(place, ' result'), direction: 'response' },
      old['x-svc-result'] ?? {},
      next['x-svc-result'] ?? {},
    )
}

const withoutKind = ({ 'x-svc-kind': _kind, ...node }: JsonMap): JsonMap => node

function withoutDescription(value: Json | undefined): Json | undefined {
  const { description: _words, ...rest } = mapOf(value)
  return Object.keys(rest).length === 0 ? value : rest
}

function diffOperation(place: DiffPosition, old: JsonMap, next: JsonMap): void {
  if (old.action !== next.action)
    noteDifference(place, 'breaking', 'operation-changed', `is to ${textOf(next.action)} now`)
  if (canonicalJson(old.channel) !== canonicalJson(next.channel))
    noteDifference(place, 'breaking', 'operation-moved', 'is on another channel')
  diffMarkers(place, old, next, 'write')
  diffMessageLists(place, 'message', old.messages, next.messages)
  const [before, after] = [mapOf(old.reply), mapOf(next.reply)]
  if (old.reply !== undefined && next.reply === undefined)
    return noteDifference(place, 'breaking', 'reply-removed', 'is not answered')
  diffMessageLists(place, 'reply', before.messages, after.messages)
}

function diffMessageLists(
  place: DiffPosition,
  kind: 'message' | 'reply',
  old: Json | undefined,
  next: Json | undefined,
): void {
  const [before, after] = [old, next].map(
    (list) => new Set(listOf(list).map((one) => readReference(one)?.split('/').at(-1) ?? '')),
  )
  for (const key of before!)
    if (!after!.has(key)) noteDifference(place, 'breaking', `${kind}-removed`, `no longer has the ${kind} ${key}`)
  for (const key of after!)
    if (!before!.has(key)) noteDifference(place, 'additive', `${kind}-added`, `has the ${kind} ${key} too`)
}
