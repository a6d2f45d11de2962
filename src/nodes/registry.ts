// All node types that come with the service, by their names.
import type { NodeRegistry, NodeType } from '../engine/node-type.ts'
import { agentNodes } from './agent.ts'
import { archiveNodes } from './archive.ts'
import { assetNodes } from './asset.ts'
import { assetShelfNodes } from './asset-shelf.ts'
import { audioNodes } from './audio.ts'
import { caseNodes } from './case.ts'
import { chartNodes } from './chart.ts'
import { chatNodes } from './chat.ts'
import { embedNodes } from './chat-embed.ts'
import { structuredNodes } from './chat-structured.ts'
import { summarizeNodes } from './chat-summarize.ts'
import { chatTextNodes } from './chat-texts.ts'
import { codeNodes } from './code.ts'
import { compareNodes, logicNodes } from './compare.ts'
import { constantNodes } from './constant.ts'
import { controlNodes, workflowNodes } from './control.ts'
import { loopNodes } from './control-loops.ts'
import { reduceNodes, weaveNodes } from './control-streams.ts'
import { csvNodes } from './csv.ts'
import { dataCsvNodes } from './data-csv.ts'
import { dataLinesNodes } from './data-lines.ts'
import { dataParquetNodes } from './data-parquet.ts'
import { dataQueryNodes } from './data-query.ts'
import { dateNodes } from './date.ts'
import { dateMathNodes } from './date-math.ts'
import { datePeriodNodes } from './date-periods.ts'
import { dictNodes } from './dict.ts'
import { dictPathsNodes } from './dict-paths.ts'
import { diffNodes } from './diff.ts'
import { documentNodes } from './document.ts'
import { documentChunkNodes } from './document-chunk.ts'
import { documentTableNodes } from './document-tables.ts'
import { encodeNodes } from './encode.ts'
import { hashNodes } from './hash.ts'
import { htmlNodes } from './html.ts'
import { httpNodes } from './http.ts'
import { imageNodes } from './image.ts'
import { imageComposeNodes } from './image-compose.ts'
import { imageFactNodes } from './image-facts.ts'
import { inputNodes } from './input.ts'
import { jsonNodes } from './json.ts'
import { listNodes } from './list.ts'
import { listOrderNodes } from './list-order.ts'
import { listPartsNodes } from './list-parts.ts'
import { markdownNodes } from './markdown.ts'
import { mathNodes } from './math.ts'
import { outputNodes } from './output.ts'
import { promptNodes } from './prompt.ts'
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
import { vectorNodes } from './vector.ts'
import { waitingNodes } from './waiting.ts'

/** A registry of the given node types, in the order of their names. Throws where two have the same name. */
export function registryOf(types: readonly NodeType[]): NodeRegistry {
  const byName = new Map(types.map((type) => [type.node_type, type]))
  if (byName.size !== types.length) throw new Error('Two node types have the same name')
  const sorted = [...types].sort((a, b) => (a.node_type < b.node_type ? -1 : 1))
  return { get: (node_type) => byName.get(node_type), all: () => sorted }
}

export const builtinNodes: NodeRegistry = registryOf([
  ...documentNodes,
  ...documentChunkNodes,
  ...documentTableNodes,
  ...imageNodes,
  ...dataCsvNodes,
  ...dataLinesNodes,
  ...dataParquetNodes,
  ...dataQueryNodes,
  ...archiveNodes,
  ...imageComposeNodes,
  ...imageFactNodes,
  ...audioNodes,
  ...chartNodes,
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
  ...assetNodes,
  ...assetShelfNodes,
  ...chatNodes,
  ...structuredNodes,
  ...chatTextNodes,
  ...summarizeNodes,
  ...embedNodes,
  ...promptNodes,
  ...vectorNodes,
  ...agentNodes,
])
