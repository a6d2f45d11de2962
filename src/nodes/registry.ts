// All node types that come with the service, by their names.
import type { NodeRegistry, NodeType } from '../engine/node-type.ts'
import { caseNodes } from './case.ts'
import { codeNodes } from './code.ts'
import { compareNodes, logicNodes } from './compare.ts'
import { constantNodes } from './constant.ts'
import { controlNodes, workflowNodes } from './control.ts'
import { loopNodes } from './control-loops.ts'
import { reduceNodes, weaveNodes } from './control-streams.ts'
import { csvNodes } from './csv.ts'
import { dateNodes } from './date.ts'
import { dateMathNodes } from './date-math.ts'
import { datePeriodNodes } from './date-periods.ts'
import { dictNodes } from './dict.ts'
import { dictPathsNodes } from './dict-paths.ts'
import { diffNodes } from './diff.ts'
import { encodeNodes } from './encode.ts'
import { hashNodes } from './hash.ts'
import { htmlNodes } from './html.ts'
import { httpNodes } from './http.ts'
import { inputNodes } from './input.ts'
import { jsonNodes } from './json.ts'
import { listNodes } from './list.ts'
import { listOrderNodes } from './list-order.ts'
import { listPartsNodes } from './list-parts.ts'
import { markdownNodes } from './markdown.ts'
import { mathNodes } from './math.ts'
import { outputNodes } from './output.ts'
import { randomNodes } from './random.ts'
import { randomChoiceNodes } from './random-choice.ts'
import { regexNodes } from './regex.ts'
import { similarityNodes } from './similarity.ts'
import { statisticsNodes } from './statistics.ts'
import { tableNodes } from './table.ts'
import { tableCleanNodes } from './table-clean.ts'
import { tableGroupNodes } from './table-group.ts'
import { tableJoinNodes } from './table-join.ts'
import { tableLinesNodes } from './table-lines.ts'
import { tableShapeNodes } from './table-shape.ts'
import { textNodes } from './text.ts'
import { textListNodes } from './text-lists.ts'
import { waitingNodes } from './waiting.ts'

/** A registry of the given node types, in the order of their names. Throws where two have the same name. */
export function registryOf(types: readonly NodeType[]): NodeRegistry {
  const byName = new Map(types.map((type) => [type.node_type, type]))
  if (byName.size !== types.length) throw new Error('Two node types have the same name')
  const sorted = [...types].sort((a, b) => (a.node_type < b.node_type ? -1 : 1))
  return { get: (node_type) => byName.get(node_type), all: () => sorted }
}

export const builtinNodes: NodeRegistry = registryOf([
  ...inputNodes,
  ...outputNodes,
  ...controlNodes,
  ...workflowNodes,
  ...waitingNodes,
  ...loopNodes,
  ...weaveNodes,
  ...reduceNodes,
  ...constantNodes,
  ...textNodes,
  ...textListNodes,
  ...caseNodes,
  ...encodeNodes,
  ...csvNodes,
  ...markdownNodes,
  ...htmlNodes,
  ...diffNodes,
  ...similarityNodes,
  ...hashNodes,
  ...randomNodes,
  ...randomChoiceNodes,
  ...regexNodes,
  ...jsonNodes,
  ...mathNodes,
  ...listNodes,
  ...dictNodes,
  ...dateNodes,
  ...dateMathNodes,
  ...datePeriodNodes,
  ...compareNodes,
  ...logicNodes,
  ...codeNodes,
  ...tableShapeNodes,
  ...tableLinesNodes,
  ...tableJoinNodes,
  ...tableGroupNodes,
  ...tableCleanNodes,
  ...tableNodes,
  ...statisticsNodes,
  ...listOrderNodes,
  ...listPartsNodes,
  ...dictPathsNodes,
  ...httpNodes,
])
