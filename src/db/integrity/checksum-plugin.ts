// Adds checksums to statements: an insert computes it as a parameter from the others, an update computes it in SQL from the changed row. A select of
// some columns reads whole rows, to verify them.
import {
  AliasNode,
  ColumnNode,
  ColumnUpdateNode,
  type InsertQueryNode,
  type KyselyPlugin,
  type OnConflictNode,
  type OperationNode,
  type PluginTransformQueryArgs,
  type PluginTransformResultArgs,
  RawNode,
  ReferenceNode,
  type RootOperationNode,
  SelectAllNode,
  SelectionNode,
  type SelectQueryNode,
  TableNode,
  type UpdateQueryNode,
  ValueListNode,
  ValueNode,
  ValuesNode,
} from 'kysely'
import { columnsWithLongText } from '../long-text-columns.ts'
import { CHECKSUM_COLUMNS, computeRowChecksum, type TableName } from './row-checksum.ts'

const CHECKSUM = 'checksum'

/** A parameter that is computed from others: the checksum of the row that a statement writes. */
export class ComputedChecksum {
  readonly #table: TableName
  /** For each covered column, a constant or a placeholder. */
  readonly #sources: readonly unknown[]

  constructor(table: TableName, sources: readonly unknown[]) {
    this.#table = table
    this.#sources = sources
  }

  /** `resolve` returns the value of a constant or a placeholder. */
  compute(resolve: (source: unknown) => unknown): number {
    return computeRowChecksum(this.#table, (place) => resolve(this.#sources[place]))
  }
}

export class ChecksumPlugin implements KyselyPlugin {
  readonly #whole: boolean

  /** `whole`: whether a select of some columns reads all of them. */
  constructor(whole: boolean) {
    this.#whole = whole
  }

  transformQuery({ node }: PluginTransformQueryArgs): RootOperationNode {
    if (node.kind === 'InsertQueryNode') return withInsertedChecksum(node)
    if (node.kind === 'UpdateQueryNode') return withUpdatedChecksum(node)
    if (node.kind === 'SelectQueryNode') return withLongTexts(this.#whole ? withAllColumns(node) : node)
    return node
  }

  async transformResult({ result }: PluginTransformResultArgs): Promise<PluginTransformResultArgs['result']> {
    return result
  }
}

/** The tables of queries that name all columns of a table. */
const wholeRowTables = new WeakMap<RootOperationNode, TableName>()

/** The table whose whole rows a query returns, so that they can be verified; null: the query returns something else. */
export function verifiedTable(node: RootOperationNode): TableName | null {
  if (node.kind !== 'SelectQueryNode' || node.setOperations) return null
  const named = wholeRowTables.get(node)
  if (named !== undefined) return named
  const all = node.selections?.find(({ selection }) => isSelectAll(selection))?.selection
  if (all === undefined) return null
  const [from] = node.from?.froms ?? []
  const table = (ReferenceNode.is(all) ? all.table : undefined) ?? from
  return table && TableNode.is(table) ? checksummedTable(table) : null
}

function isSelectAll(node: OperationNode): boolean {
  return SelectAllNode.is(node) || (ReferenceNode.is(node) && SelectAllNode.is(node.column))
}

function checksummedTable(node: TableNode): TableName | null {
  const { name } = node.table.identifier
  return name in CHECKSUM_COLUMNS ? (name as TableName) : null
}

function withAllColumns(node: SelectQueryNode): SelectQueryNode {
  const { from, joins, groupBy, setOperations, frontModifiers, selections = [] } = node
  const [table] = from?.froms ?? []
  const simple = !(joins || groupBy || setOperations || frontModifiers) && from?.froms.length === 1
  if (!simple || !TableNode.is(table!) || checksummedTable(table) === null) return node
  if (selections.length === 0 || !selections.every(({ selection }) => isColumn(selection))) return node
  const renamed = selections.filter(({ selection }) => AliasNode.is(selection))
  return { ...node, selections: [...renamed, SelectionNode.createSelectAll()] }
}

/** Names the columns if one of them may be read as bytes. */
function withLongTexts(node: SelectQueryNode): SelectQueryNode {
  const { from, joins, groupBy, setOperations, selections = [] } = node
  const table = joins || groupBy || setOperations || from?.froms.length !== 1 ? null : verifiedTable(node)
  const columns = table === null ? null : columnsWithLongText(table)
  if (columns === null) return node
  const others = selections.filter(({ selection }) => !isSelectAll(selection))
  const named = { ...node, selections: [...others, ...columns] }
  wholeRowTables.set(named, table!)
  return named
}

function isColumn(node: OperationNode): boolean {
  return ReferenceNode.is(AliasNode.is(node) ? node.node : node)
}

function withInsertedChecksum(node: InsertQueryNode): InsertQueryNode {
  const table = node.into ? checksummedTable(node.into) : null
  const { columns = [], values } = node
  if (table === null || columnNames(columns).includes(CHECKSUM)) return node
  if (!values || !ValuesNode.is(values)) throw new Error(`an insert into ${table} computes its checksum itself`)
  const rows = values.values.map((row) => {
    const nodes = row.kind === 'ValueListNode' ? row.values : row.values.map((value) => ValueNode.create(value))
    const sources = CHECKSUM_COLUMNS[table].map((name) => valueSource(table, nodes[columnNames(columns).indexOf(name)]))
    return ValueListNode.create([...nodes, ValueNode.create(new ComputedChecksum(table, sources))])
  })
  const onConflict = node.onConflict && withUpsertedChecksum(table, node.onConflict)
  return {
    ...node,
    columns: [...columns, ColumnNode.create(CHECKSUM)],
    values: ValuesNode.create(rows),
    ...(onConflict ? { onConflict } : {}),
  }
}

function columnNames(columns: readonly ColumnNode[]): string[] {
  return columns.map(({ column }) => column.name)
}

/** The source of the value of an inserted column. */
function valueSource(table: TableName, node: OperationNode | undefined): unknown {
  if (node === undefined) return null
  if (ValueNode.is(node)) return node.value
  const parameter = RawNode.is(node) && node.sqlFragments.join('') === '' ? node.parameters[0] : undefined
  if (parameter && ValueNode.is(parameter)) return parameter.value
  throw new Error(`an insert into ${table} has a value that is no parameter: its checksum is not known`)
}

// If no other column of the old row remains, the checksum is that of the new row.
function withUpsertedChecksum(table: TableName, conflict: OnConflictNode): OnConflictNode {
  const { updates } = conflict
  if (!updates) return conflict
  const shared = columnNames(conflict.columns ?? [])
  const replaced = updates.filter(({ value }) => isExcluded(value)).map(({ column }) => columnName(column))
  const whole =
    updates.length === replaced.length &&
    CHECKSUM_COLUMNS[table].every((name: string) => [...shared, ...replaced].includes(name))
  const checksum = whole
    ? ReferenceNode.create(ColumnNode.create(CHECKSUM), TableNode.create('excluded'))
    : recomputedChecksum(table, updates)
  return { ...conflict, updates: [...updates, ColumnUpdateNode.create(ColumnNode.create(CHECKSUM), checksum)] }
}

function isExcluded(node: OperationNode): boolean {
  return ReferenceNode.is(node) && node.table?.table.identifier.name === 'excluded'
}

function withUpdatedChecksum(node: UpdateQueryNode): UpdateQueryNode {
  const table = node.table && TableNode.is(node.table) ? checksummedTable(node.table) : null
  const { updates = [] } = node
  if (table === null || updates.some(({ column }) => columnName(column) === CHECKSUM)) return node
  return {
    ...node,
    updates: [...updates, ColumnUpdateNode.create(ColumnNode.create(CHECKSUM), recomputedChecksum(table, updates))],
  }
}

/** The checksum of a row after some of its columns were set; the SQL function throws if the row was damaged before. */
function recomputedChecksum(table: TableName, updates: readonly ColumnUpdateNode[]): OperationNode {
  const columns: readonly string[] = CHECKSUM_COLUMNS[table]
  const places = updates.map(({ column }) => columns.indexOf(columnName(column)))
  if (places.includes(-1)) throw new Error(`an update of ${table} sets a column that no checksum covers`)
  const before = columns.map((name) => `"${name}"`).join(', ')
  const start = `row_rechecksum('${table}', "${CHECKSUM}", '${places.join(',')}', ${before}, `
  const fragments = [start, ...updates.slice(1).map(() => ', '), ')']
  return RawNode.create(
    fragments,
    updates.map(({ value }) => value),
  )
}

function columnName(column: OperationNode): string {
  const node = ReferenceNode.is(column) ? column.column : column
  if (!ColumnNode.is(node)) throw new Error('an update sets something that is no column')
  return node.column.name
}
