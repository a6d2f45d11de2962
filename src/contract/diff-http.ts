// The operations of two OpenAPI documents: their identity, who may call them, what they take.
import { diffMarks, isLive } from './diff-marks.ts'
import { diffReplies } from './diff-replies.ts'
import { diffSchema } from './diff-schema.ts'
import { diffSecurity } from './diff-security.ts'
import type { Findings } from './difference.ts'
import { canonical, isMap, type Json, type JsonMap, listOf, mapOf, names, resolve, textOf } from './json.ts'
import { into, note, type Pair, type Place } from './place.ts'

export const METHODS: ReadonlySet<string> = new Set([
  'get',
  'put',
  'post',
  'delete',
  'options',
  'head',
  'patch',
  'trace',
])

interface Operation {
  readonly method: string
  readonly path: string
  readonly item: JsonMap
  readonly node: JsonMap
}

/** Compares all operations. They are known again by their ids, then by method and path. */
export function diffHttp(documents: Pair, findings: Findings): void {
  const next = operationsOf(documents.new)
  const left = new Set(next)
  for (const old of operationsOf(documents.old)) {
    const same =
      next.find((one) => one.node.operationId === old.node.operationId) ??
      next.find((one) => identity(one) === identity(old))
    const place: Place = { documents, findings, direction: 'request', live: isLive(old.node), at: nameOf(old) }
    if (same === undefined) note(place, 'breaking', 'operation-removed', 'is gone')
    else diffOperation(place, old, same)
    if (same) left.delete(same)
  }
  for (const one of left) findings.add('additive', 'operation-added', nameOf(one), 'is new')
  diffSecurity({ documents, findings })
  diffServers(documents, findings)
}

function operationsOf(document: JsonMap): Operation[] {
  return Object.entries(mapOf(document.paths)).flatMap(([path, item]) =>
    Object.entries(mapOf(item))
      .filter(([method, node]) => METHODS.has(method) && isMap(node))
      .map(([method, node]) => ({ method, path, item: mapOf(item), node: mapOf(node) })),
  )
}

const identity = ({ method, path }: Operation) => `${method.toUpperCase()} ${path}`
const nameOf = (one: Operation) => `${identity(one)} (${textOf(one.node.operationId)})`

function diffOperation(place: Place, old: Operation, next: Operation): void {
  if (identity(old) !== identity(next)) note(place, 'breaking', 'operation-moved', `is ${identity(next)} now`)
  if (old.node.operationId !== next.node.operationId)
    note(place, 'breaking', 'operation-renamed', `has the operationId ${textOf(next.node.operationId)} now`)
  if (canonical(old.node.tags) !== canonical(next.node.tags)) note(place, 'risky', 'tag-changed', 'has other tags')
  if ((next.node.deprecated === true) !== (old.node.deprecated === true))
    note(place, 'additive', 'deprecated', next.node.deprecated === true ? 'is deprecated' : 'is no longer deprecated')
  diffMarks(place, old.node, next.node, ['get', 'head'].includes(old.method) ? 'read' : 'write')
  diffRequirements(place, old.node, next.node)
  diffParameters(place, old, next)
  diffBody(place, old.node, next.node)
  diffReplies({ ...place, direction: 'response' }, mapOf(old.node.responses), mapOf(next.node.responses))
}

/** Each alternative of the security that was good enough has to stay so. */
function diffRequirements(place: Place, old: JsonMap, next: JsonMap): void {
  const before = alternatives(old.security ?? place.documents.old.security)
  const after = alternatives(next.security ?? place.documents.new.security)
  const gone = [...before].filter((one) => !after.has(one) && !after.has(''))
  const come = [...after].filter((one) => !before.has(one))
  for (const one of gone)
    note(place, 'breaking', 'security-tightened', `can no longer be called with ${one || 'no credential'}`)
  for (const one of come)
    note(place, 'additive', 'security-loosened', `can be called with ${one || 'no credential'} now`)
}

/** What a caller may bring, each alternative as text; empty text for nothing. */
function alternatives(security: Json | undefined): Set<string> {
  const list = listOf(security).map((requirement) => canonical(mapOf(requirement)))
  return new Set(list.length === 0 ? [''] : list.map((one) => (one === '{}' ? '' : one)))
}

function parametersOf(document: JsonMap, { item, node }: Operation): JsonMap {
  const found: JsonMap = {}
  for (const written of [...listOf(item.parameters), ...listOf(node.parameters)]) {
    const parameter = mapOf(resolve(document, written))
    const name = textOf(parameter.name)
    found[`${textOf(parameter.in)} ${parameter.in === 'header' ? name.toLowerCase() : name}`] = parameter
  }
  return found
}

function diffParameters(place: Place, old: Operation, next: Operation): void {
  const before = parametersOf(place.documents.old, old)
  const after = parametersOf(place.documents.new, next)
  for (const key of names(before, after)) {
    const at = into(place, ` ${key}`)
    const [a, b] = [mapOf(before[key]), mapOf(after[key])]
    if (after[key] === undefined) note(at, 'breaking', 'parameter-removed', 'is gone')
    else if (before[key] === undefined)
      note(
        at,
        b.required === true ? 'breaking' : 'additive',
        'parameter-added',
        b.required === true ? 'is new and required' : 'is new',
      )
    else diffParameter(at, a, b)
  }
}

function diffParameter(place: Place, old: JsonMap, next: JsonMap): void {
  diffRequired(place, old.required === true, next.required === true)
  for (const key of ['style', 'explode', 'allowReserved', 'content'])
    if (canonical(old[key]) !== canonical(next[key]))
      note(place, 'breaking', 'parameter-encoding', `has another ${key}`)
  diffSchema(place, old.schema ?? {}, next.schema ?? {})
}

function diffRequired(place: Place, old: boolean, next: boolean): void {
  if (old !== next)
    note(
      place,
      next ? 'breaking' : 'additive',
      next ? 'required' : 'optional',
      `is ${next ? 'required' : 'optional'} now`,
    )
}

function diffBody(place: Place, old: JsonMap, next: JsonMap): void {
  const at = into(place, ' body')
  const [a, b] = [resolve(place.documents.old, old.requestBody), resolve(place.documents.new, next.requestBody)]
  if (a === undefined && b === undefined) return
  if (b === undefined) return note(at, 'breaking', 'body-removed', 'is gone')
  const demanded = mapOf(b).required === true
  if (a === undefined)
    return note(at, demanded ? 'breaking' : 'additive', 'body-added', demanded ? 'is new and required' : 'is new')
  diffRequired(at, mapOf(a).required === true, demanded)
  diffContent(at, mapOf(mapOf(a).content), mapOf(mapOf(b).content))
}

function diffContent(place: Place, old: JsonMap, next: JsonMap): void {
  for (const type of names(old, next)) {
    const at = into(place, ` ${type}`)
    const [a, b] = [mapOf(old[type]), mapOf(next[type])]
    if (next[type] === undefined) note(at, 'breaking', 'content-removed', 'is no longer taken')
    else if (old[type] === undefined) note(at, 'additive', 'content-added', 'is taken too')
    else {
      if (canonical(a.encoding) !== canonical(b.encoding))
        note(at, 'risky', 'encoding-changed', 'has parts in another encoding')
      diffSchema(at, a.schema ?? {}, b.schema ?? {})
    }
  }
}

function diffServers({ old, new: next }: Pair, findings: Findings): void {
  const urls = (document: JsonMap) => canonical(listOf(document.servers).map((server) => mapOf(server).url ?? ''))
  if (urls(old) !== urls(next)) findings.add('risky', 'servers-changed', 'servers', 'have other addresses')
}
