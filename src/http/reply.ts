import type { ServerResponse } from 'node:http'
import type { Output, RouteSpec } from '../api/route.ts'

type Headers = Record<string, string>

/** The content policy of what an agent wrote: it runs no script, has no origin and sends no form. */
export const SANDBOXED = 'sandbox'

/** JSON with another status than the first declared one, or with headers. */
export class Reply<T> {
  readonly status: number
  readonly body: T
  readonly headers: Headers

  constructor(status: number, body: T, headers: Headers = {}) {
    this.status = status
    this.body = body
    this.headers = headers
  }
}

/** A body that is text or bytes already. Events go out like this as they are stored, without being taken apart. */
export class Plain {
  readonly type: string
  readonly body: string | Uint8Array
  readonly headers: Headers
  readonly status: number

  constructor(type: string, body: string | Uint8Array, headers: Headers = {}, status = 200) {
    this.type = type
    this.body = body
    this.headers = headers
    this.status = status
  }
}

export interface StreamOptions {
  status?: number
  headers?: Headers
  /** Called instead of `open` when nobody wants the body: the caller has gone, or asked for the head alone. */
  abandon?: () => void
}

/** A body that is written as it comes. Contract: `open` must not throw. */
export class Streamed {
  readonly type: string
  readonly open: (out: ServerResponse) => void
  readonly options: StreamOptions

  constructor(type: string, open: (out: ServerResponse) => void, options: StreamOptions = {}) {
    this.type = type
    this.open = open
    this.options = options
  }
}

export type Result<R extends RouteSpec> = Output<R> | Reply<Output<R>> | Plain | Streamed
