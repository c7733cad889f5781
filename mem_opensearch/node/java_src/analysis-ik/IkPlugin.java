/*
 * Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
 * the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0
 */
package org.memopensearch.ik;

import java.nio.file.Path;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.Tokenizer;
import org.opensearch.common.settings.Settings;
import org.opensearch.index.analysis.AnalyzerProvider;
import org.opensearch.index.analysis.AnalyzerScope;
import org.opensearch.index.analysis.PreBuiltAnalyzerProvider;
import org.opensearch.index.analysis.TokenizerFactory;
import org.opensearch.indices.analysis.AnalysisModule.AnalysisProvider;
import org.opensearch.plugins.AnalysisPlugin;
import org.opensearch.plugins.Plugin;

/** Offers the IK segmenter under the names that the widely used analysis-ik plugin has: ik_smart and ik_max_word. */
public final class IkPlugin extends Plugin implements AnalysisPlugin {
    private static final String SMART = "ik_smart";
    private static final String MAX_WORD = "ik_max_word";

    private final Path configPath;

    /** Called by the server with the folder of its configuration; user words are read from ik/user.dic in it. */
    public IkPlugin(Settings settings, Path configPath) {
        this.configPath = configPath;
        // The dictionary takes about half a second to load: beside the start of the node, not in the first request.
        Thread loader = new Thread(() -> IkWords.load(configPath), "ik-dictionary");
        loader.setDaemon(true);
        loader.start();
    }

    @Override
    public Map<String, AnalysisProvider<TokenizerFactory>> getTokenizers() {
        return Map.of(SMART, tokenizer(true), MAX_WORD, tokenizer(false));
    }

    @Override
    public Map<String, AnalysisProvider<AnalyzerProvider<? extends Analyzer>>> getAnalyzers() {
        return Map.of(SMART, analyzer(true), MAX_WORD, analyzer(false));
    }

    private AnalysisProvider<TokenizerFactory> tokenizer(boolean smart) {
        return (indexSettings, environment, name, settings) -> {
            IkWords.load(configPath);
            Supplier<Tokenizer> create = () -> new IkTokenizer(smart);
            return TokenizerFactory.newFactory(name, create);
        };
    }

    private AnalysisProvider<AnalyzerProvider<? extends Analyzer>> analyzer(boolean smart) {
        return (indexSettings, environment, name, settings) -> {
            IkWords.load(configPath);
            return new PreBuiltAnalyzerProvider(name, AnalyzerScope.INDICES, new IkAnalyzer(smart));
        };
    }

    private static final class IkAnalyzer extends Analyzer {
        private final boolean smart;

        private IkAnalyzer(boolean smart) {
            this.smart = smart;
        }

        @Override
        protected TokenStreamComponents createComponents(String fieldName) {
            return new TokenStreamComponents(new IkTokenizer(smart));
        }
    }
}
