// All node types that come with the service, by name.
import type { NodeRegistry, NodeType } from '../engine/node-api/node-type.ts'
import { agentNodes } from './agent/run-node.ts'
import { archiveNodes } from './archive-nodes.ts'
import { assetNodes } from './asset-load-node.ts'
import { assetSaveListNodes } from './asset-save-list-nodes.ts'
import { audioNodes } from './audio-nodes.ts'
import { chartNodes } from './chart-nodes.ts'
import { classifyExtractNodes } from './chat/classify-extract-nodes.ts'
import { chatNodes } from './chat/complete-node.ts'
import { embedNodes } from './chat/embed-node.ts'
import { structuredNodes } from './chat/structured-node.ts'
import { summarizeNodes } from './chat/summarize-node.ts'
import { codeNodes } from './code-node.ts'
import { compareNodes, logicNodes } from './comparison-and-logic-nodes.ts'
import { constantNodes } from './constant-nodes.ts'
import { controlNodes, workflowNodes } from './control/core-nodes.ts'
import { loopAndFailureNodes } from './control/loop-and-failure-nodes.ts'
import { multiStreamNodes, streamReducerNodes } from './control/stream-nodes.ts'
import { waitNodes } from './control/wait-nodes.ts'
import { convertAndFillNodes } from './data/convert-and-fill-nodes.ts'
import { csvFileNodes } from './data/csv-file-nodes.ts'
import { groupAndDescribeNodes } from './data/group-and-describe-nodes.ts'
import { joinNodes } from './data/join-node.ts'
import { jsonLinesFileNodes } from './data/json-lines-file-nodes.ts'
import { jsonLinesNodes } from './data/json-lines-nodes.ts'
import { parquetFileNodes } from './data/parquet-file-nodes.ts'
import { pivotNodes } from './data/pivot-nodes.ts'
import { selectFilterSortNodes } from './data/select-filter-sort-nodes.ts'
import { sqlQueryNodes } from './data/sql-query-node.ts'
import { dateArithmeticNodes } from './date/arithmetic-nodes.ts'
import { dateConversionNodes } from './date/conversion-nodes.ts'
import { datePeriodNodes } from './date/period-node.ts'
import { dictNodes } from './dict-nodes.ts'
import { dictPathsNodes } from './dict-path-nodes.ts'
import { documentChunkNodes } from './document/chunk-node.ts'
import { pdfDocxHtmlNodes } from './document/pdf-docx-html-nodes.ts'
import { spreadsheetNodes } from './document/spreadsheet-nodes.ts'
import { hashNodes } from './hash-nodes.ts'
import { htmlNodes } from './html/parse-and-render-nodes.ts'
import { httpNodes } from './http/request-nodes.ts'
import { imageComposeNodes } from './image/compose-nodes.ts'
import { imageFileNodes } from './image/file-and-metadata-nodes.ts'
import { imageTransformNodes } from './image/transform-nodes.ts'
import { inputNodes } from './input-nodes.ts'
import { jsonNodes } from './json-nodes.ts'
import { listElementNodes } from './list/element-nodes.ts'
import { listSortFilterGroupNodes } from './list/sort-filter-group-nodes.ts'
import { listTransformNodes } from './list/transform-nodes.ts'
import { markdownNodes } from './markdown-nodes.ts'
import { mathNodes } from './math-nodes.ts'
import { outputNodes } from './output-node.ts'
import { promptNodes } from './prompt-node.ts'
import { randomChoiceNodes } from './random/choice-nodes.ts'
import { randomNumberNodes } from './random/number-nodes.ts'
import { regexNodes } from './regex-nodes.ts'
import { statisticsNodes } from './statistics-nodes.ts'
import { caseNodes } from './text/case-and-slug-nodes.ts'
import { csvNodes } from './text/csv-nodes.ts'
import { diffNodes } from './text/diff-node.ts'
import { textEditingNodes } from './text/editing-nodes.ts'
import { encodeNodes } from './text/encoding-nodes.ts'
import { similarityNodes } from './text/similarity-node.ts'
import { textSplitJoinNodes } from './text/split-join-nodes.ts'
import { vectorNodes } from './vector/index-and-search-nodes.ts'

/** A registry of the given node types, sorted by name. Throws if two have the same name. */
export function createRegistry(types: readonly NodeType[]): NodeRegistry {
  const byName = new Map(types.map((type) => [type.node_type, type]))
  if (byName.size !== types.length) throw new Error('Two node types have the same name')
  const sorted = [...types].sort((a, b) => (a.node_type < b.node_type ? -1 : 1))
  return { get: (node_type) => byName.get(node_type), all: () => sorted }
}

export const builtinRegistry: NodeRegistry = createRegistry([
  ...pdfDocxHtmlNodes,
  ...documentChunkNodes,
  ...spreadsheetNodes,
  ...imageTransformNodes,
  ...csvFileNodes,
  ...jsonLinesFileNodes,
  ...parquetFileNodes,
  ...sqlQueryNodes,
  ...archiveNodes,
  ...imageComposeNodes,
  ...imageFileNodes,
  ...audioNodes,
  ...chartNodes,
  ...inputNodes,
  ...outputNodes,
  ...controlNodes,
  ...workflowNodes,
  ...waitNodes,
  ...loopAndFailureNodes,
  ...multiStreamNodes,
  ...streamReducerNodes,
  ...constantNodes,
  ...textEditingNodes,
  ...textSplitJoinNodes,
  ...caseNodes,
  ...encodeNodes,
  ...csvNodes,
  ...markdownNodes,
  ...htmlNodes,
  ...diffNodes,
  ...similarityNodes,
  ...hashNodes,
  ...randomNumberNodes,
  ...randomChoiceNodes,
  ...regexNodes,
  ...jsonNodes,
  ...mathNodes,
  ...listElementNodes,
  ...dictNodes,
  ...dateConversionNodes,
  ...dateArithmeticNodes,
  ...datePeriodNodes,
  ...compareNodes,
  ...logicNodes,
  ...codeNodes,
  ...pivotNodes,
  ...jsonLinesNodes,
  ...joinNodes,
  ...groupAndDescribeNodes,
  ...convertAndFillNodes,
  ...selectFilterSortNodes,
  ...statisticsNodes,
  ...listSortFilterGroupNodes,
  ...listTransformNodes,
  ...dictPathsNodes,
  ...httpNodes,
  ...assetNodes,
  ...assetSaveListNodes,
  ...chatNodes,
  ...structuredNodes,
  ...classifyExtractNodes,
  ...summarizeNodes,
  ...embedNodes,
  ...promptNodes,
  ...vectorNodes,
  ...agentNodes,
])
