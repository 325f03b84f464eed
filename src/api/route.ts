import type * as z from 'zod'
import type { ErrorCode } from './errors.ts'

/**
 * Who may call a route.
 * - `free`: anybody (health, server info, static files)
 * - `caller`: the key in key mode; in local mode a loopback caller may omit it
 * - `key`: the key, always
 * - `sandbox`: the key, or that of a sandbox
 * - `expose`: as `caller`, but with `X-Expose-Secrets` as `key`
 * - `workspace`: as `caller`, but the read-only cookie for workspaces opens it too, also to frames and pictures of foreign pages
 */
export type Access = 'free' | 'caller' | 'key' | 'expose' | 'workspace' | 'sandbox'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** A response that is not JSON. */
export interface Raw {
  raw: string
  schema?: z.ZodType
}

export interface RouteSpec {
  method: Method
  /** In OpenAPI's form, parameters in braces. */
  path: string
  /** Whether the last parameter takes the rest of the path, slashes included. */
  rest?: boolean
  tag: string
  summary: string
  access: Access
  /** Answered from the first moment, while the server still finds out who may do what: it must depend on nothing. */
  early?: true
  /** Also for callers who are confined to a sandbox: it shows them, and lets them change, nothing beyond it. */
  confined?: true
  params?: z.ZodObject
  query?: z.ZodObject
  headers?: z.ZodObject
  body?: z.ZodType
  /** Whether the body may be left out. */
  bodyOptional?: boolean
  /** The field of a multipart form that holds a file. The handler reads it from the connection, as it comes. */
  upload?: string
  /** The type of a body that is one file. The handler reads it from the connection, too. */
  file?: string
  /** In bytes; see http/limits.ts for the default. */
  bodyLimit?: number
  /** By status; `null` is an empty body. The first is what a handler's plain return value means. */
  responses: Record<number, z.ZodType | Raw | null>
  errors?: readonly ErrorCode[]
}

/** Declares a route. The object is the one source of the router, validation, OpenAPI entry and typed client. */
export const route = <const R extends RouteSpec>(spec: R): R => spec

export const isRaw = (response: z.ZodType | Raw | null | undefined): response is Raw => !!response && 'raw' in response

type Parsed<S> = S extends z.ZodType ? z.output<S> : unknown
type Sent<S> = S extends z.ZodType ? z.input<S> : never
type Part<R, K extends string, Name extends string> = R extends { [P in K]: infer S extends z.ZodType }
  ? { [P in Name]: Parsed<S> }
  : unknown

/** What a handler receives: each declared part, parsed. */
export type Input<R extends RouteSpec> = Part<R, 'params', 'params'> &
  Part<R, 'query', 'query'> &
  Part<R, 'headers', 'headers'> &
  (R extends { body: infer S extends z.ZodType }
    ? { body: R extends { bodyOptional: true } ? Parsed<S> | undefined : Parsed<S> }
    : unknown)

type SentPart<R, K extends string> = R extends { [P in K]: infer S extends z.ZodType }
  ? Partial<Record<string, never>> extends Sent<S>
    ? { [P in K]?: Sent<S> }
    : { [P in K]: Sent<S> }
  : unknown

/** What a client passes: each declared part, before defaults. */
export type Request<R extends RouteSpec> = SentPart<R, 'params'> &
  SentPart<R, 'query'> &
  SentPart<R, 'headers'> &
  (R extends { body: infer S extends z.ZodType }
    ? R extends { bodyOptional: true }
      ? { body?: Sent<S> }
      : { body: Sent<S> }
    : R extends { upload: string }
      ? { body: FormData }
      : R extends { file: string }
        ? { body: Blob | Uint8Array<ArrayBuffer> }
        : unknown)

/** The JSON a route answers with. */
export type Output<R extends RouteSpec> = {
  [S in keyof R['responses']]: R['responses'][S] extends z.ZodType
    ? z.output<R['responses'][S]>
    : R['responses'][S] extends null
      ? undefined
      : Response
}[keyof R['responses']]
