import type { FunctionComponent } from 'preact'
import { AboutSection } from './about.tsx'
import { AgentSection } from './agent.tsx'
import { AppearanceSection } from './appearance.tsx'
import { ApprovalsSection } from './approvals.tsx'
import { ConfirmationSection } from './confirmation.tsx'
import { GitSection } from './git.tsx'
import { HooksSection } from './hooks.tsx'
import { McpSection } from './mcp.tsx'
import { ModelsSection } from './models.tsx'
import { SecretsSection } from './secrets.tsx'
import { SkillsSection } from './skills.tsx'
import { WebhooksSection } from './webhooks.tsx'

export interface Section {
  key: string
  label: string
  /** What it is for. */
  lead: string
  View: FunctionComponent
}

export const SECTIONS: readonly Section[] = [
  {
    key: 'models',
    label: 'Models',
    lead: 'The models agents think with, each under a name. New conversations start with the default one.',
    View: ModelsSection,
  },
  {
    key: 'agent',
    label: 'Agent',
    lead: 'What new conversations start with. Those that run already stay as they are.',
    View: AgentSection,
  },
  {
    key: 'confirmation',
    label: 'Confirmation',
    lead: 'When an agent has to ask before it acts. Each conversation can be given another rule while it runs.',
    View: ConfirmationSection,
  },
  {
    key: 'secrets',
    label: 'Secrets',
    lead: 'Kept encrypted. A command that names one finds it in its environment; nobody can read it here.',
    View: SecretsSection,
  },
  {
    key: 'mcp',
    label: 'MCP servers',
    lead: 'Servers that bring agents more tools, over the Model Context Protocol.',
    View: McpSection,
  },
  {
    key: 'skills',
    label: 'Skills and plugins',
    lead: 'Knowledge for agents, fetched from a repository. A plugin may also bring hooks, MCP servers and sub-agents.',
    View: SkillsSection,
  },
  {
    key: 'hooks',
    label: 'Hooks',
    lead: 'Commands that run by themselves when an agent starts, stops, or uses a tool.',
    View: HooksSection,
  },
  {
    key: 'git',
    label: 'Git',
    lead: 'Tokens to fetch repositories with, and the name that commits are made under.',
    View: GitSection,
  },
  {
    key: 'approvals',
    label: 'Approvals',
    lead: 'What repositories bring to be run, and you said yes to. The yes counts for that very content.',
    View: ApprovalsSection,
  },
  {
    key: 'webhooks',
    label: 'Webhooks',
    lead: 'Who is told what happens in conversations. They are named in the configuration of the server.',
    View: WebhooksSection,
  },
  {
    key: 'appearance',
    label: 'Appearance',
    lead: 'How this page looks and sounds, in this browser.',
    View: AppearanceSection,
  },
  { key: 'about', label: 'About', lead: 'What this server is, and how safe it is.', View: AboutSection },
]
