// Compares the lists of a publication besides its documents: error codes, events, schema names and requirements.

import { type JsonMap, listOf, mapOf, textOf, unionOfKeys } from '../json.ts'
import type { ContractPublication } from '../publication-files.ts'
import type { DifferenceCollector } from './differences.ts'

export function diffCatalogues(
  old: ContractPublication,
  next: ContractPublication,
  findings: DifferenceCollector,
): void {
  diffErrors(old.json('errors.json'), next.json('errors.json'), findings)
  diffEvents(old.json('operations.json'), next.json('operations.json'), findings)
  diffSchemaNames(old, next, findings)
  diffRequirements(old.json('requirements.json'), next.json('requirements.json'), findings)
}

/** The message of an error is for people, so its changes are no difference. Programs use everything else. */
function diffErrors(old: JsonMap, next: JsonMap, findings: DifferenceCollector): void {
  for (const code of unionOfKeys(old, next)) {
    const place = `error ${code}`
    const [a, b] = [mapOf(old[code]), mapOf(next[code])]
    if (next[code] === undefined) findings.add('breaking', 'error-removed', place, 'is gone')
    else if (old[code] === undefined) findings.add('additive', 'error-added', place, 'is new')
    else {
      for (const key of ['status', 'type', 'retryable'])
        if (a[key] !== b[key])
          findings.add('breaking', `error-${key}`, place, `has the ${key} ${b[key]} in place of ${a[key]}`)
    }
  }
}

/** Clients skip unknown types of events. */
function diffEvents(old: JsonMap, next: JsonMap, findings: DifferenceCollector): void {
  const types = (manifest: JsonMap) => new Set(listOf(manifest.events).map((event) => textOf(mapOf(event).type)))
  const [before, after] = [types(old), types(next)]
  for (const type of before) if (!after.has(type)) findings.add('breaking', 'event-removed', `event ${type}`, 'is gone')
  for (const type of after) if (!before.has(type)) findings.add('additive', 'event-added', `event ${type}`, 'is new')
}

/** A schema's name is a URL and the name of a generated type, but it is not sent over the wire. */
function diffSchemaNames(old: ContractPublication, next: ContractPublication, findings: DifferenceCollector): void {
  const schemas = ({ names: all }: ContractPublication) =>
    new Set(all.filter((name) => /^[A-Z][A-Za-z0-9]*\.json$/.test(name)))
  const [before, after] = [schemas(old), schemas(next)]
  for (const name of before) if (!after.has(name)) findings.add('risky', 'schema-removed', `schema ${name}`, 'is gone')
  for (const name of after) if (!before.has(name)) findings.add('additive', 'schema-added', `schema ${name}`, 'is new')
  for (const name of before) {
    if (after.has(name) && old.json(name).$id !== next.json(name).$id)
      findings.add('breaking', 'schema-moved', `schema ${name}`, `has the $id ${textOf(next.json(name).$id)} now`)
  }
}

/**
 * A removed or restated rule may change behaviour that others rely on. So may a new rule for clients: existing clients may break it. A new
 * rule for servers gives clients more to rely on. Sources and mutations only explain.
 */
function diffRequirements(old: JsonMap, next: JsonMap, findings: DifferenceCollector): void {
  const [before, after] = [indexRules(old), indexRules(next)]
  for (const [id, { side, rule }] of before) {
    const place = `requirement ${id}`
    const now = after.get(id)
    if (!now) findings.add('risky', 'requirement-removed', place, 'is gone')
    else if (now.side !== side) findings.add('risky', 'requirement-changed', place, `is asked of the ${now.side} now`)
    else if (now.rule !== rule) findings.add('risky', 'requirement-changed', place, 'has another rule')
  }
  for (const [id, { side }] of after) {
    if (!before.has(id))
      findings.add(side === 'client' ? 'risky' : 'additive', 'requirement-added', `requirement ${id}`, 'is new')
  }
}

/** Returns every rule by its id. */
function indexRules(all: JsonMap): Map<string, { side: string; rule: string }> {
  const lists = Object.entries(all).map(([side, list]): [string, JsonMap[]] => [side, listOf(list).map(mapOf)])
  return new Map(
    lists.flatMap(([side, list]) => list.map(({ id, rule }) => [textOf(id), { side, rule: textOf(rule) }] as const)),
  )
}
