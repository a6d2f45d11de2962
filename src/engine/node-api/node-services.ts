// The services that the host of a run provides to its nodes. The engine passes them on unread; node code relies on these interfaces, and
// hosts implement them.
import type { AssetAccess } from './services/assets.ts'
import type { ComputeAccess } from './services/compute.ts'
import type { MediaAccess } from './services/media.ts'
import type { ModelAccess } from './services/models.ts'
import type { OutgoingHttp } from './services/outgoing-http.ts'
import type { CodeSandbox } from './services/sandbox.ts'
import type { ToolAccess } from './services/tools.ts'
import type { VectorAccess } from './services/vectors.ts'

export interface NodeServices {
  /** The user that the run belongs to, in every workspace: scarce resources are shared among users. */
  readonly owner: string
  readonly assets: AssetAccess
  readonly models: ModelAccess
  readonly vectors: VectorAccess
  readonly sandbox: CodeSandbox
  readonly media: MediaAccess
  readonly compute: ComputeAccess
  readonly http: OutgoingHttp
  readonly tools: ToolAccess
  /** A secret of the run's user; null if there is none of that name. */
  secret(name: string): Promise<string | null>
  /** Replaces all known secrets of the run's user in a text. Must be called before the text is cut. */
  redact(text: string): string
  /** As `redact`, for many or large texts: in short steps. */
  redactTexts(texts: readonly string[]): Promise<readonly string[]>
}
