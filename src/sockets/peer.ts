// An open socket as commands and their answers see it. How it reads and writes is left to the connection.
import type { Principal } from '../access/principal.ts'
import type { Followers, Outlet } from './followers.ts'
import type { Lanes } from './lanes.ts'

export interface Peer extends Outlet {
  readonly principal: Principal
  readonly followers: Followers
  /** Where commands that name the same job wait for each other. */
  readonly lanes: Lanes
  /** The encoding of what is sent from now on. */
  mode: 'binary' | 'text'
}
