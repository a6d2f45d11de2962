// Compares the operations of two OpenAPI documents: their identity, their access and their requests.

import {
  canonicalJson,
  isMap,
  type Json,
  type JsonMap,
  listOf,
  mapOf,
  resolveReference,
  textOf,
  unionOfKeys,
} from '../json.ts'
import type { DifferenceCollector } from './differences.ts'
import { diffMarkers, isServed } from './markers.ts'
import { childPosition, type DiffPosition, type DocumentPair, noteDifference } from './position.ts'
import { diffResponses } from './responses.ts'
import { diffSchema } from './schemas.ts'
import { diffSecuritySchemes } from './security-schemes.ts'

export const HTTP_METHODS: ReadonlySet<string> = new Set([
  'get',
  'put',
  'post',
  'delete',
  'options',
  'head',
  'patch',
  'trace',
])

interface DocumentOperation {
  readonly method: string
  readonly path: string
  readonly item: JsonMap
  readonly node: JsonMap
}

/** Compares all operations. Operations match by their ids, otherwise by method and path. */
export function diffHttpOperations(documents: DocumentPair, findings: DifferenceCollector): void {
  const next = listOperations(documents.new)
  const left = new Set(next)
  for (const old of listOperations(documents.old)) {
    const same =
      next.find((one) => one.node.operationId === old.node.operationId) ??
      next.find((one) => operationIdentity(one) === operationIdentity(old))
    const place: DiffPosition = {
      documents,
      findings,
      direction: 'request',
      live: isServed(old.node),
      at: operationLabel(old),
    }
    if (same === undefined) noteDifference(place, 'breaking', 'operation-removed', 'is gone')
    else diffOperation(place, old, same)
    if (same) left.delete(same)
  }
  for (const one of left) findings.add('additive', 'operation-added', operationLabel(one), 'is new')
  diffSecuritySchemes({ documents, findings })
  diffServers(documents, findings)
}

function listOperations(document: JsonMap): DocumentOperation[] {
  return Object.entries(mapOf(document.paths)).flatMap(([path, item]) =>
    Object.entries(mapOf(item))
      .filter(([method, node]) => HTTP_METHODS.has(method) && isMap(node))
      .map(([method, node]) => ({ method, path, item: mapOf(item), node: mapOf(node) })),
  )
}

const operationIdentity = ({ method, path }: DocumentOperation) => `${method.toUpperCase()} ${path}`
const operationLabel = (one: DocumentOperation) => `${operationIdentity(one)} (${textOf(one.node.operationId)})`

function diffOperation(place: DiffPosition, old: DocumentOperation, next: DocumentOperation): void {
  if (operationIdentity(old) !== operationIdentity(next))
    noteDifference(place, 'breaking', 'operation-moved', `is ${operationIdentity(next)} now`)
  if (old.node.operationId !== next.node.operationId)
    noteDifference(place, 'breaking', 'operation-renamed', `has the operationId ${textOf(next.node.operationId)} now`)
  if (canonicalJson(old.node.tags) !== canonicalJson(next.node.tags))
    noteDifference(place, 'risky', 'tag-changed', 'has other tags')
  if ((next.node.deprecated === true) !== (old.node.deprecated === true))
    noteDifference(
      place,
      'additive',
      'deprecated',
      next.node.deprecated === true ? 'is deprecated' : 'is no longer deprecated',
    )
  diffMarkers(place, old.node, next.node, ['get', 'head'].includes(old.method) ? 'read' : 'write')
  diffSecurityRequirements(place, old.node, next.node)
  diffParameters(place, old, next)
  diffBody(place, old.node, next.node)
  diffResponses({ ...place, direction: 'response' }, mapOf(old.node.responses), mapOf(next.node.responses))
}

/** Each security alternative of the old version has to stay sufficient. */
function diffSecurityRequirements(place: DiffPosition, old: JsonMap, next: JsonMap): void {
  const before = listSecurityAlternatives(old.security ?? place.documents.old.security)
  const after = listSecurityAlternatives(next.security ?? place.documents.new.security)
  const gone = [...before].filter((one) => !after.has(one) && !after.has(''))
  const come = [...after].filter((one) => !before.has(one))
  for (const one of gone)
    noteDifference(place, 'breaking', 'security-tightened', `can no longer be called with ${one || 'no credential'}`)
  for (const one of come)
    noteDifference(place, 'additive', 'security-loosened', `can be called with ${one || 'no credential'} now`)
}

/** Returns the security alternatives as texts. An empty text stands for no credential. */
function listSecurityAlternatives(security: Json | undefined): Set<string> {
  const list = listOf(security).map((requirement) => canonicalJson(mapOf(requirement)))
  return new Set(list.length === 0 ? [''] : list.map((one) => (one === '{}' ? '' : one)))
}

function indexParameters(document: JsonMap, { item, node }: DocumentOperation): JsonMap {
  const found: JsonMap = {}
  for (const written of [...listOf(item.parameters), ...listOf(node.parameters)]) {
    const parameter = mapOf(resolveReference(document, written))
    const name = textOf(parameter.name)
    found[`${textOf(parameter.in)} ${parameter.in === 'header' ? name.toLowerCase() : name}`] = parameter
  }
  return found
}

function diffParameters(place: DiffPosition, old: DocumentOperation, next: DocumentOperation): void {
  const before = indexParameters(place.documents.old, old)
  const after = indexParameters(place.documents.new, next)
  for (const key of unionOfKeys(before, after)) {
    const at = childPosition(place, ` ${key}`)
    const [a, b] = [mapOf(before[key]), mapOf(after[key])]
    if (after[key] === undefined) noteDifference(at, 'breaking', 'parameter-removed', 'is gone')
    else if (before[key] === undefined)
      noteDifference(
        at,
        b.required === true ? 'breaking' : 'additive',
        'parameter-added',
        b.required === true ? 'is new and required' : 'is new',
      )
    else diffParameter(at, a, b)
  }
}

function diffParameter(place: DiffPosition, old: JsonMap, next: JsonMap): void {
  diffRequired(place, old.required === true, next.required === true)
  for (const key of ['style', 'explode', 'allowReserved', 'content'])
    if (canonicalJson(old[key]) !== canonicalJson(next[key]))
      noteDifference(place, 'breaking', 'parameter-encoding', `has another ${key}`)
  diffSchema(place, old.schema ?? {}, next.schema ?? {})
}

function diffRequired(place: DiffPosition, old: boolean, next: boolean): void {
  if (old !== next)
    noteDifference(
      place,
      next ? 'breaking' : 'additive',
      next ? 'required' : 'optional',
      `is ${next ? 'required' : 'optional'} now`,
    )
}

function diffBody(place: DiffPosition, old: JsonMap, next: JsonMap): void {
  const at = childPosition(place, ' body')
  const [a, b] = [
    resolveReference(place.documents.old, old.requestBody),
    resolveReference(place.documents.new, next.requestBody),
  ]
  if (a === undefined && b === undefined) return
  if (b === undefined) return noteDifference(at, 'breaking', 'body-removed', 'is gone')
  const demanded = mapOf(b).required === true
  if (a === undefined)
    return noteDifference(
      at,
      demanded ? 'breaking' : 'additive',
      'body-added',
      demanded ? 'is new and required' : 'is new',
    )
  diffRequired(at, mapOf(a).required === true, demanded)
  diffContent(at, mapOf(mapOf(a).content), mapOf(mapOf(b).content))
}

function diffContent(place: DiffPosition, old: JsonMap, next: JsonMap): void {
  for (const type of unionOfKeys(old, next)) {
    const at = childPosition(place, ` ${type}`)
    const [a, b] = [mapOf(old[type]), mapOf(next[type])]
    if (next[type] === undefined) noteDifference(at, 'breaking', 'content-removed', 'is no longer taken')
    else if (old[type] === undefined) noteDifference(at, 'additive', 'content-added', 'is taken too')
    else {
      if (canonicalJson(a.encoding) !== canonicalJson(b.encoding))
        noteDifference(at, 'risky', 'encoding-changed', 'has parts in another encoding')
      diffSchema(at, a.schema ?? {}, b.schema ?? {})
    }
  }
}

function diffServers({ old, new: next }: DocumentPair, findings: DifferenceCollector): void {
  const urls = (document: JsonMap) => canonicalJson(listOf(document.servers).map((server) => mapOf(server).url ?? ''))
  if (urls(old) !== urls(next)) findings.add('risky', 'servers-changed', 'servers', 'have other addresses')
}
