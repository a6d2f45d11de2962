// The tables as TypeScript types. Columns with JSON are text here; repositories parse them. Times are RFC 3339 strings in UTC.
import type { Generated } from 'kysely'
import type { AssetTables } from './tables/assets.ts'
import type { ChatTables } from './tables/chat.ts'
import type { JobTables } from './tables/jobs.ts'
import type { UserTables } from './tables/users.ts'
import type { VectorTables } from './tables/vectors.ts'
import type { WorkflowTables } from './tables/workflows.ts'

/** Single facts about the whole database. */
interface MetaTable {
  name: string
  value: string
}

interface RowsByTable extends WorkflowTables, JobTables, AssetTables, UserTables, ChatTables, VectorTables {
  meta: MetaTable
}

/** A row with the checksum of its other columns, which `integrity/row-checksum.ts` computes. */
type Checked<Row> = Row & { checksum: Generated<number> }

export type Tables = { [Name in keyof RowsByTable]: Checked<RowsByTable[Name]> }
