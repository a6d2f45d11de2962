// The example of each node type: what the node is given, and what it gives.
import { agentExamples } from './agent.ts'
import { archiveExamples } from './archive.ts'
import { assetExamples } from './asset.ts'
import { audioExamples } from './audio.ts'
import { chartExamples } from './chart.ts'
import { chatExamples } from './chat.ts'
import { codeExamples } from './code.ts'
import { compareExamples } from './compare.ts'
import { constantExamples } from './constant.ts'
import { controlExamples } from './control.ts'
import { dataFileExamples } from './data-files.ts'
import { dataRowExamples } from './data-rows.ts'
import { dataTableExamples } from './data-tables.ts'
import { dateExamples } from './date.ts'
import { dictExamples } from './dict.ts'
import { documentExamples } from './document.ts'
import { hashExamples } from './hash.ts'
import { httpExamples } from './http.ts'
import { humanExamples } from './human.ts'
import { imageExamples } from './image.ts'
import { inputExamples } from './input.ts'
import { jsonExamples } from './json.ts'
import { listExamples } from './list.ts'
import { logicExamples } from './logic.ts'
import { mathExamples } from './math.ts'
import type { NodeExample, NodeExamples } from './node-example.ts'
import { outputExamples } from './output.ts'
import { promptExamples } from './prompt.ts'
import { randomExamples } from './random.ts'
import { regexExamples } from './regex.ts'
import { textExamples } from './text.ts'
import { vectorExamples } from './vector.ts'
import { workflowExamples } from './workflow.ts'

const TABLES: readonly NodeExamples[] = [
  agentExamples,
  archiveExamples,
  assetExamples,
  audioExamples,
  chartExamples,
  chatExamples,
  codeExamples,
  compareExamples,
  constantExamples,
  controlExamples,
  dataFileExamples,
  dataRowExamples,
  dataTableExamples,
  dateExamples,
  dictExamples,
  documentExamples,
  hashExamples,
  httpExamples,
  humanExamples,
  imageExamples,
  inputExamples,
  jsonExamples,
  listExamples,
  logicExamples,
  mathExamples,
  outputExamples,
  promptExamples,
  randomExamples,
  regexExamples,
  textExamples,
  vectorExamples,
  workflowExamples,
]

/** All examples by node type. */
export const nodeExamples: ReadonlyMap<string, NodeExample> = new Map(TABLES.flatMap((table) => Object.entries(table)))

/** The example of a node type, or null for an unknown type. */
export function exampleFor(type: string): NodeExample | null {
  return nodeExamples.get(type) ?? null
}
